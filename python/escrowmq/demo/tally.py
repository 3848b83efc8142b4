"""What was sent, acknowledged and read, and whether that agrees. Values only."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from msgspec import Struct, field

from escrowmq.demo.client import Sent

TOPICS: Final = ("orders", "payments", "ledger")
QUEUES_PER_TOPIC: Final = 2
QUEUES: Final = tuple((topic, queue_id) for topic in TOPICS for queue_id in range(QUEUES_PER_TOPIC))


def numbered(number: int) -> Sent:
    """Message `number`: queue, key and body follow from it, so that none can be mistaken for another."""
    topic, queue_id = QUEUES[number % len(QUEUES)]
    return Sent(topic, queue_id, f"key-{number}", f"{topic} {number}; ".encode() * 40)


class Tally(Struct):
    """The books of the demonstration."""

    sent: int = 0
    acknowledged: set[int] = field(default_factory=set)
    # The numbers of the messages of each queue, in the order in which they were read.
    read: dict[tuple[str, int], list[int]] = field(default_factory=lambda: {queue: [] for queue in QUEUES})
    changed: int = 0

    def take_next(self, count: int) -> range:
        """The numbers of the messages that are sent next."""
        self.sent += count
        return range(self.sent - count, self.sent)

    def enter_read(self, queue: tuple[str, int], messages: Iterable[tuple[str, bytes]]) -> None:
        """Keys and bodies that were read from a queue."""
        for key, body in messages:
            number = int(key.removeprefix("key-"))
            self.read[queue].append(number)
            self.changed += numbered(number) != Sent(*queue, key, body)

    def lost(self) -> int:
        """How many were acknowledged and not read."""
        return len(self.acknowledged.difference(*self.read.values()))

    def misplaced(self) -> int:
        """How many were read twice, or before one that was sent earlier to the same queue."""
        return sum(later <= earlier for numbers in self.read.values() for earlier, later in pairwise(numbers))

    def is_whole(self) -> bool:
        """Whether what was acknowledged is there once, unchanged and in order."""
        return not (self.lost() or self.misplaced() or self.changed)
