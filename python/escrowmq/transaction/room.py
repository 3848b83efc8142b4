"""The room as handlers see it."""

from dataclasses import dataclass, field
from typing import TypeAlias

from escrowmq.transaction.counters import Counters
from escrowmq.transaction.ending import Ending
from escrowmq.transaction.journal import Journal
from escrowmq.transaction.ports import Appended, Index, Records

Identity: TypeAlias = tuple[str, str, str, int]
"""What a prepare that is sent again has in common with the first: group, id, topic, and checksum of the body."""


@dataclass
class Planned:
    """A half message that is to be appended with the batch of requests that is being handled; where it went."""

    receipt: Appended | None = None


@dataclass
class Room:
    """The index, the ways into the log, and what is on its way there. Only one thread uses it."""

    index: Index
    records: Records
    journal: Journal
    ending: Ending
    counters: Counters
    planned: dict[Identity, Planned] = field(default_factory=dict)
