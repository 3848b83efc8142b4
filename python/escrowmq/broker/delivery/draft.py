"""A message on its way into the log, as the rules of delivery pass it on."""

from msgspec import Struct

from escrowmq import _core
from escrowmq.protocol import properties


class Draft(Struct, frozen=True, kw_only=True):
    """A message that may still change its topic, queue and properties."""

    topic: str
    queue_id: int
    properties: dict[str, str]
    body: bytes | memoryview
    born_timestamp_ms: int
    born_host: str
    flag: int = 0
    sys_flag: int = 0
    reconsume_times: int = 0

    def to_message(self) -> _core.Message:
        """The message as the store takes it."""
        return _core.Message(
            self.topic,
            self.body,
            queue_id=self.queue_id,
            properties=properties.encode(self.properties),
            flag=self.flag,
            sys_flag=self.sys_flag,
            born_timestamp_ms=self.born_timestamp_ms,
            born_host=self.born_host,
            reconsume_times=self.reconsume_times,
        )
