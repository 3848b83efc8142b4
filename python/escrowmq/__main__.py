"""`python -m escrowmq` is the command `escrowmq`."""

from escrowmq.cli.main import main

if __name__ == "__main__":
    main(prog_name="escrowmq")
