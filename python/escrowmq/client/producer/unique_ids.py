"""Ids of messages as RocketMQ's producers make them; every process has its own maker."""

import os
import secrets
import time

from escrowmq.client.identity import own_address
from escrowmq.client.lifetimes import when_forked
from escrowmq.model.message_id import UniqueIds

# Any address beyond this machine will do: nothing is sent there.
_FAR_AWAY = "192.0.2.1:9"


def _maker() -> UniqueIds:
    address = own_address(_FAR_AWAY)
    return UniqueIds(f"{address}:0", process_id=os.getpid(), maker=secrets.randbits(32))


class _Maker:
    def __init__(self) -> None:
        self.ids: UniqueIds | None = None

    def forget(self) -> None:
        self.ids = None


_own = _Maker()
when_forked(_own.forget)


def unique_id() -> str:
    """An id that no other message has."""
    ids = _own.ids
    if ids is None:
        ids = _own.ids = _maker()
    return ids.next(wall_ms=time.time_ns() // 1_000_000)
