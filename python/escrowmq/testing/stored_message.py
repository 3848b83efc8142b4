"""What a broker holds of a topic, as plain values that a test can compare."""

from msgspec import Struct

from escrowmq import _core
from escrowmq.protocol.properties import KEYS, TAGS


class StoredMessage(Struct, frozen=True, kw_only=True):
    """A message as it stands in its queue."""

    topic: str
    queue_id: int
    queue_offset: int
    body: bytes
    properties: dict[str, str]
    reconsume_times: int
    stored_at_ms: int

    @property
    def tags(self) -> str | None:
        """Its tag."""
        return self.properties.get(TAGS)

    @property
    def keys(self) -> list[str]:
        """Its keys."""
        return self.properties.get(KEYS, "").split()


def read_messages(store: _core.Store, topic: str) -> list[StoredMessage]:
    """All messages of a topic, in the order in which they were stored."""
    # Without a flush of its own an async store shows what was acknowledged a moment later.
    store.wait_visible(store.log_end)
    queues = [queue.queue_id for queue in store.queues() if queue.topic == topic]
    records = [record for queue_id in queues for record in store.iterate(topic, queue_id)]
    records.sort(key=lambda record: record.log_offset)
    return [_message(record) for record in records]


def _message(record: _core.Record) -> StoredMessage:
    return StoredMessage(
        topic=record.topic,
        queue_id=record.queue_id,
        queue_offset=record.queue_offset,
        body=record.decoded_body(),
        properties=record.properties,
        reconsume_times=record.reconsume_times,
        stored_at_ms=record.store_timestamp_ms,
    )
