"""The name server: where brokers say what they have, and clients learn whom to ask."""
