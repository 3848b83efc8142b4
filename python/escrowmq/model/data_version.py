"""How a broker tells two states of its topics apart."""

from msgspec import Struct, field


class DataVersion(Struct, frozen=True):
    """A broker's topic table at one moment; equal versions mean equal tables.

    Fields stand in the order in which Java writes them.
    """

    counter: int = 0
    state_version: int = field(default=0, name="stateVersion")
    timestamp_ms: int = field(default=0, name="timestamp")
