"""Where a group keeps how far it is: at the brokers; where every member reads everything, in a file of each member."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from escrowmq.client.connection import Client
from escrowmq.client.consumer.broker_requests import BrokerRequests
from escrowmq.client.consumer.local_offsets import load_offsets, save_offsets
from escrowmq.client.consumer.offset_table import OffsetTable
from escrowmq.client.operation import Operation
from escrowmq.client.steps import offload
from escrowmq.errors import EscrowError, TransportError
from escrowmq.model.message_queue import MessageQueue

_LOG: Final = logging.getLogger("escrowmq.client")


class OffsetStore(Protocol):
    """What keeps offsets."""

    def load(self, queue: MessageQueue) -> Operation[int | None]:
        """What the group reads next of a queue; None where it has read nothing."""

    def save(self, table: OffsetTable, offsets: Mapping[MessageQueue, int]) -> Operation[None]:
        """Stores offsets and notes in the table which are; what can't be stored now is left for the next time."""


class BrokerOffsets:
    """Each broker keeps those of its queues."""

    def __init__(self, requests: BrokerRequests) -> None:
        self._requests = requests

    def load(self, queue: MessageQueue) -> Operation[int | None]:
        """Asks the broker."""
        return self._requests.committed(queue)

    def save(self, table: OffsetTable, offsets: Mapping[MessageQueue, int]) -> Operation[None]:
        """Tells the brokers; one that does not answer is not told about its other queues."""
        silent: set[str] = set()
        for queue, offset in offsets.items():
            if queue.broker_name in silent:
                continue
            try:
                yield from self._requests.commit(queue, offset)
            except EscrowError as error:
                if isinstance(error, TransportError):
                    silent.add(queue.broker_name)
                _LOG.warning("an offset is not stored: queue %s, offset %s, error %s", queue, offset, error)
            else:
                table.stored(queue, offset)


class FileOffsets:
    """A file of this member."""

    def __init__(self, client: Client, path: Path) -> None:
        self._client = client
        self._path = path
        self._loaded: dict[MessageQueue, int] | None = None

    def load(self, queue: MessageQueue) -> Operation[int | None]:
        """Looks it up in the file, which is read once."""
        if self._loaded is None:
            self._loaded = yield from offload(lambda: load_offsets(self._path))
        return self._loaded.get(queue)

    def save(self, table: OffsetTable, offsets: Mapping[MessageQueue, int]) -> Operation[None]:
        """Replaces the file. What other members of this name wrote about queues that this one has not read stays."""
        if not offsets:
            return
        everything = {**(self._loaded or {}), **table.all()}
        try:
            yield from offload(lambda: save_offsets(self._path, everything))
        except OSError as error:
            _LOG.warning("offsets are not stored: path %s, error %s", self._path, error)
            return
        self._loaded = everything
        for queue, offset in offsets.items():
            table.stored(queue, offset)
