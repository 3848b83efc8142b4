"""The command `escrowmq`: each subcommand in a file of its own, imported only when it is called."""
