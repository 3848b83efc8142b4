"""A database change and a message, both or neither: the barrier, and the escrow that stands on it."""

from escrowmq.sql.escrow import Escrow, Transaction
from escrowmq.sql.sweeping import Swept
from escrowmq.sql.values import Deposit, Result, Verdict

__all__ = ["Deposit", "Escrow", "Result", "Swept", "Transaction", "Verdict"]
