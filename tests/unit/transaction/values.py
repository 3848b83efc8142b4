"""A transaction as the index would tell it, with what a test does not care about filled in."""

from msgspec import Struct, field

from escrowmq.transaction.ports import State


class Known(Struct, frozen=True, kw_only=True):
    """A transaction of the group `shop` for the topic `orders`."""

    root_log_offset: int = 1_000
    root_store_ms: int = 0
    group: str = "shop"
    topic: str = "orders"
    queue_id: int = 2
    unique_id: str = "7F01"
    body_crc: int = 99
    checks: int = 0
    is_asked: bool = False
    state: State = "pending"
    half_offset: int = 5
    log_offset: int = 1_000
    store_ms: int = 0
    live_half_offsets: list[int] = field(default_factory=lambda: [5])
    decided_ms: int | None = None
    decided_by: str | None = None
    final_log_offset: int | None = None
    decision_end: int = 0
