"""Which queues of a topic are whose: every member of a group computes it for itself, from the same lists, the same way.

Members in Java share groups with ours, so each strategy gives what RocketMQ's of the same name gives.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from escrowmq.client.consumer.consistent_hash import HashRing
from escrowmq.model.message_queue import MessageQueue

_RING_PLACES: Final = 10


class Strategy(Struct, frozen=True):
    """How queues are divided; `name` is RocketMQ's."""

    name: str
    share: Callable[[str, Sequence[MessageQueue], Sequence[str]], list[MessageQueue]]
    """A member's queues, of all queues and for all members, both in order."""


def allocate(
    strategy: Strategy, member: str, queues: Sequence[MessageQueue], members: Sequence[str]
) -> list[MessageQueue]:
    """The queues of a member; none where the others do not know of it yet."""
    if member not in members:
        return []
    return strategy.share(member, sorted(queues, key=_place), sorted(members))


def config(queues: Sequence[MessageQueue]) -> Strategy:
    """These queues, whoever else is there."""
    chosen = list(queues)
    return Strategy("CONFIG", lambda _member, _queues, _members: list(chosen))


def consistent_hash(places: int = _RING_PLACES) -> Strategy:
    """Each queue to the next member on a ring, on which a member has so many places: a change moves few queues."""

    def share(member: str, queues: Sequence[MessageQueue], members: Sequence[str]) -> list[MessageQueue]:
        ring = HashRing(members, places=places)
        return [queue for queue in queues if ring.owner(_text(queue)) == member]

    return Strategy("CONSISTENT_HASH", share)


def _average(member: str, queues: Sequence[MessageQueue], members: Sequence[str]) -> list[MessageQueue]:
    index = members.index(member)
    each, left_over = divmod(len(queues), len(members))
    begin = index * each + min(index, left_over)
    return list(queues[begin : begin + each + (index < left_over)])


def _by_circle(member: str, queues: Sequence[MessageQueue], members: Sequence[str]) -> list[MessageQueue]:
    return list(queues[members.index(member) :: len(members)])


def _place(queue: MessageQueue) -> tuple[str, str, int]:
    """Java's order of queues."""
    return queue.topic, queue.broker_name, queue.queue_id


def _text(queue: MessageQueue) -> str:
    """Compat: what Java's `toString` says, which is what it hashes."""
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"


AVG: Final = Strategy("AVG", _average)
"""Neighbouring queues to each member, one more to the first ones where they do not divide evenly."""

AVG_BY_CIRCLE: Final = Strategy("AVG_BY_CIRCLE", _by_circle)
"""Queues to members in turn."""

CONSISTENT_HASH: Final = consistent_hash()
"""By a ring with ten places for each member, as in RocketMQ."""
