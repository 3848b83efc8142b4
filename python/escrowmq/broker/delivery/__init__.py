"""Messages that are delivered later, or again: delay levels, retries, dead letters.

What becomes of a message is decided by functions over values; `delayed` is what acts when the time has come.
"""
