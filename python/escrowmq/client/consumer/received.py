"""A message that a consumer got. It reads what it is asked for from the record, which stays as it was received."""

from functools import cached_property
from typing import Final

from escrowmq._core import Record
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol import properties as names

_TRUE: Final = "true"
_SHARDING_KEY: Final = "__SHARDINGKEY"


class ReceivedMessage:
    """One message. It stays valid as long as anybody holds it."""

    # The dictionary is for what is read only once; until then there is none.
    __slots__ = ("__dict__", "local_retries", "queue", "record")

    def __init__(self, record: Record, queue: MessageQueue) -> None:
        self.record = record
        """The record as it was received."""
        self.queue = queue
        """The queue that it came from: for a message that comes again, one of the group's retry topic."""
        self.local_retries = 0

    @property
    def topic(self) -> str:
        """The topic that it was sent to, also when it comes again."""
        return self.record.find_property(names.RETRY_TOPIC) or self.queue.topic

    @cached_property
    def body(self) -> bytes:
        """The payload, decompressed.

        Raises:
            BadBody: It says that it is compressed, and is not.
        """
        return self.record.decoded_body()

    @cached_property
    def properties(self) -> dict[str, str]:
        """All properties."""
        return self.record.properties

    def find_property(self, name: str) -> str | None:
        """One property; cheaper than all of them."""
        return self.record.find_property(name)

    @property
    def tags(self) -> str | None:
        """What subscriptions filter by."""
        return self.record.find_property(names.TAGS)

    @property
    def keys(self) -> tuple[str, ...]:
        """What it is found by."""
        return tuple((self.record.find_property(names.KEYS) or "").split())

    @property
    def sharding_key(self) -> str | None:
        """What its producer chose the queue by."""
        return self.record.find_property(_SHARDING_KEY)

    @property
    def message_id(self) -> str:
        """The id that its producer gave it, which stays when it comes again; else the one that says where it is."""
        return self.record.unique_id or self.offset_message_id

    @property
    def offset_message_id(self) -> str:
        """The id that says where it is: broker and log offset."""
        return self.record.offset_message_id

    @property
    def transaction_id(self) -> str | None:
        """The id of the transaction that it was sent in."""
        is_of_transaction = self.record.find_property(names.TRANSACTION_PREPARED) == _TRUE
        return self.record.find_property(names.TRANSACTION_ID) or (self.message_id if is_of_transaction else None)

    @property
    def queue_offset(self) -> int:
        """Its place in the queue."""
        return self.record.queue_offset

    @property
    def reconsume_times(self) -> int:
        """How often it failed before."""
        return self.record.reconsume_times + self.local_retries

    @property
    def born_timestamp_ms(self) -> int:
        """When its producer made it, in milliseconds since 1970 UTC."""
        return self.record.born_timestamp_ms

    @property
    def store_timestamp_ms(self) -> int:
        """When the broker stored it, in milliseconds since 1970 UTC."""
        return self.record.store_timestamp_ms

    @property
    def born_host(self) -> str:
        """Where its producer was."""
        return self.record.born_host

    @property
    def flag(self) -> int:
        """The producer's own flag."""
        return self.record.flag

    def __repr__(self) -> str:
        place = f"{self.queue.broker_name}:{self.queue.queue_id}@{self.queue_offset}"
        return f"<ReceivedMessage {self.topic!r} {place} {self.message_id}>"
