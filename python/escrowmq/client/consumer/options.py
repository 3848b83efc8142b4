"""How a consumer is set up, with RocketMQ's defaults."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from escrowmq.client.consumer.allocation import AVG, Strategy
from escrowmq.client.consumer.limits import FetchLimits
from escrowmq.client.consumer.retry_rules import RETRIES_MAX
from escrowmq.errors import ConfigError
from escrowmq.model.place import Place

_COUNT_MAX: Final = 1_024


class ConsumerOptions(Struct, frozen=True, kw_only=True):
    """Options of every consumer.

    Raises:
        ConfigError: A value is none that a consumer can have.
    """

    is_broadcasting: bool = False
    """Whether every member of the group gets every message, and keeps in a file how far it is."""
    start: Place = "latest"
    """Where a group begins that has read nothing of a queue: what was sent before it started does not count."""
    strategy: Strategy = AVG
    """How the members of a group divide the queues."""
    fetch: FetchLimits = FetchLimits()
    """How much is fetched ahead of the handlers."""
    pull_count_max: int = 32
    """Messages that are asked for at once; brokers give 32 at most unless they are set up otherwise."""
    pull_wait_ms: int = 15_000
    """How long a broker keeps a pull that finds nothing."""
    rebalance_interval_s: float = 20.0
    persist_interval_s: float = 5.0
    request_timeout_s: float = 5.0
    error_pause_s: float = 3.0
    """How long a queue is left alone after a pull that failed."""
    instance_name: str = "DEFAULT"
    """What tells apart broadcasting members on one machine: each needs a file of its own."""
    offsets_folder: Path = Path("~/.rocketmq_offsets")
    """Where broadcasting members keep how far they are."""

    def __post_init__(self) -> None:
        _at_least("pull_count_max", self.pull_count_max, 1, _COUNT_MAX)
        _at_least("pull_wait_ms", self.pull_wait_ms, 1, 600_000)


class PullOptions(ConsumerOptions, frozen=True, kw_only=True):
    """Options of a consumer that is asked for messages."""

    commits_by_itself: bool = True
    """Whether what was handed out counts as done when more is asked for, and is stored from time to time."""


class PushOptions(ConsumerOptions, frozen=True, kw_only=True):
    """Options of a consumer that calls handlers.

    Raises:
        ConfigError: A value is none that a consumer can have.
    """

    batch_max: int = 32
    """Most messages that `on_batch` gets at once."""
    is_orderly: bool = False
    """Whether the messages of a queue are handled one after the other, by one member at a time."""
    handlers_max: int = 20
    """How many handlers run at a time: threads, or tasks."""
    retries_max: int | None = None
    """How often a message is tried again before it goes to the group's dead letters: 16 times, in order without end."""
    suspend_s: float = 1.0
    """How long a queue in order rests after a message that failed."""
    lock_interval_s: float = 20.0
    close_timeout_s: float = 10.0
    """How long `close` waits for handlers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least("batch_max", self.batch_max, 1, _COUNT_MAX)
        _at_least("handlers_max", self.handlers_max, 1, _COUNT_MAX)
        if self.retries_max is not None:
            _at_least("retries_max", self.retries_max, 0, 1 << 30)

    @property
    def retries_max_for_broker(self) -> int:
        """What the broker is told when it gets a message back."""
        return RETRIES_MAX if self.retries_max is None else self.retries_max


def _at_least(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ConfigError(f"{name} is {value}, and may be from {least} to {most}", key=name)
