"""Transactions as a producer sees them: half messages that it prepares, decides, and is asked about."""
