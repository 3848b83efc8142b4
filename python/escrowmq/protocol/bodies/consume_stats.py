"""The bodies that answer GET_CONSUME_STATS and GET_BROKER_CONSUME_STATS: how far groups are behind.

Fields stand in the order in which Java writes them.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import fastjson, object_keys
from escrowmq.protocol.queue_tables import decode_queue_table


class QueueProgress(Struct, frozen=True):
    """How far a group is in a queue, and when the last message was stored that it has consumed."""

    broker_offset: int = field(name="brokerOffset")
    consumer_offset: int = field(name="consumerOffset")
    last_consumed_at_ms: int = field(name="lastTimestamp")
    # Brokers from before 5.0 do not say it.
    pulled_offset: int = field(default=0, name="pullOffset")


class ConsumeStats(Struct, frozen=True):
    """How far a group is in some queues, and how many messages it takes a second."""

    messages_per_s: float
    queues: Mapping[MessageQueue, QueueProgress]

    @property
    def behind(self) -> int:
        """Messages that were not consumed yet."""
        return sum(queue.broker_offset - queue.consumer_offset for queue in self.queues.values())

    @property
    def in_flight(self) -> int:
        """Messages that were pulled and not consumed yet."""
        return sum(queue.pulled_offset - queue.consumer_offset for queue in self.queues.values())

    def encode(self) -> bytes:
        """As fastjson writes it."""
        queues = object_keys.encode_map(self.queues.items())
        return b'{"consumeTps":%s,"offsetTable":%s}' % (fastjson.encode_strict(self.messages_per_s), queues)


def encode_broker_consume_stats(address: str, groups: Mapping[str, Sequence[ConsumeStats]]) -> bytes:
    """The answer to GET_BROKER_CONSUME_STATS: for each group its topics, one after the other."""
    rows = (
        b"{%s:[%s]}" % (fastjson.encode_strict(group), b",".join(stats.encode() for stats in topics))
        for group, topics in groups.items()
    )
    all_stats = [stats for topics in groups.values() for stats in topics]
    return b'{"brokerAddr":%s,"consumeStatsList":[%s],"totalDiff":%d,"totalInflightDiff":%d}' % (
        fastjson.encode_strict(address),
        b",".join(rows),
        sum(stats.behind for stats in all_stats),
        sum(stats.in_flight for stats in all_stats),
    )


def decode_consume_stats(body: bytes | memoryview) -> dict[MessageQueue, QueueProgress]:
    """Reads the queues of an answer to GET_CONSUME_STATS.

    Raises:
        BadBody: It is none.
    """
    return decode_queue_table(body, QueueProgress)
