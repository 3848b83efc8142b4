"""Sending messages: what is checked before, where they go, and what is done when a broker does not take them."""
