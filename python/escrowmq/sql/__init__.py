"""A database change and a message, both or neither: the barrier, and the escrow that stands on it."""
