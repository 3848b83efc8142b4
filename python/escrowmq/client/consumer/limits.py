"""How much of a queue is fetched ahead of the handlers. Pure."""

from msgspec import Struct

from escrowmq.client.consumer.process_queue import ProcessQueue


class FetchLimits(Struct, frozen=True, kw_only=True):
    """Above any of them a queue is not pulled until handlers have caught up."""

    count_max: int = 1_000
    """Messages of a queue that are not done."""
    size_max_bytes: int = 100 << 20
    """Their bytes."""
    span_max: int = 2_000
    """Offsets between the first that is not done and the next: how much comes again if this process dies."""


def is_full(queue: ProcessQueue, limits: FetchLimits) -> bool:
    """Whether to wait before more is pulled."""
    # One message is always let through, however large it is.
    return queue.count > 0 and (
        queue.count >= limits.count_max or queue.size_bytes >= limits.size_max_bytes or queue.span >= limits.span_max
    )
