"""The demonstration of `make run`: `escrowmq up`, messages over the wire, and a SIGKILL that loses none of them."""
