"""The room as handlers see it."""

from dataclasses import dataclass, field

from escrowmq.transaction.counters import Counters
from escrowmq.transaction.ending import Ending
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Index, Records


@dataclass
class Room:
    """The index, the ways into the log, and what is on its way there. Only one thread uses it."""

    index: Index
    records: Records
    journal: Journal
    ending: Ending
    counters: Counters
    # Group and id of half messages that are to be appended with the batch of requests that is being handled.
    planned: set[tuple[str, str]] = field(default_factory=set)
