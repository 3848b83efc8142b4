"""The bodies of requests and answers, one kind per file: bytes to values and back."""
