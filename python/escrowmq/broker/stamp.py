"""What the broker writes on the messages that it stores and on its answers to sends."""

import os
from collections.abc import Callable
from typing import Final

from escrowmq import _core
from escrowmq.model.message_id import UniqueIds, offset_message_id
from escrowmq.protocol import properties

# The fast lane makes ids too, and has a mark of its own.
_MAKER: Final = 0x5059_5448


class Stamp:
    """Region, cluster and address of a broker, and the ids that it gives."""

    def __init__(
        self, *, region: str, cluster: str, asks_for_traces: bool, store_host: str, wall_ms: Callable[[], int]
    ) -> None:
        self._on_answers = {properties.REGION: region, properties.TRACE_ON: "true" if asks_for_traces else "false"}
        self._on_messages = {**self._on_answers, properties.CLUSTER: cluster}
        self._store_host = store_host
        self._wall_ms = wall_ms
        self._unique_ids = UniqueIds(store_host, process_id=os.getpid(), maker=_MAKER)
        self.prepares: Final = _core.PrepareReader(
            region=region, cluster=cluster, asks_for_traces=asks_for_traces, store_host=store_host
        )
        """Writes the same, on many half messages at a time."""

    def answer_fields(self) -> dict[str, str]:
        """The fields that every answer to a send has, whatever it says."""
        return dict(self._on_answers)

    def complete(self, sent: dict[str, str]) -> dict[str, str]:
        """The properties of a message as they are stored: the producer's, an id, and the broker's behind them."""
        # Compat: only the broker says where a message was popped, and what it writes itself.
        kept = {
            name: value
            for name, value in sent.items()
            if name != properties.POP_CHECKPOINT and name not in self._on_messages
        }
        if properties.UNIQUE_KEY not in kept:
            kept[properties.UNIQUE_KEY] = self._unique_ids.next(wall_ms=self._wall_ms())
        return {**kept, **self._on_messages}

    def message_id(self, log_offset: int) -> str:
        """The id of a message that was appended there."""
        return offset_message_id(self._store_host, log_offset)
