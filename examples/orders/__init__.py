"""Orders and their messages: a service that creates orders, one that bills them, and a story in which both are killed.

`python -m examples.orders` tells it in a terminal.
"""
