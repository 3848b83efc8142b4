"""Brokers that were slow or silent, and how long they get no messages for it. Compat: RocketMQ's tables."""

import time
from collections.abc import Collection
from typing import Final

_TABLE: Final = ((15.0, 30.0), (5.0, 10.0), (3.0, 6.0), (1.8, 5.0), (0.55, 2.0))
"""From this latency on, so long."""
_SILENT_S: Final = 10.0
"""A broker that did not answer counts as one that took this long."""


class SlowBrokers:
    """What sends have told of brokers. Any thread may ask and tell."""

    def __init__(self) -> None:
        self._avoided_until_s: dict[str, float] = {}

    def took(self, broker_name: str, latency_s: float) -> None:
        """A broker answered after so long."""
        penalty_s = avoided_for_s(latency_s)
        if penalty_s:
            self._avoided_until_s[broker_name] = time.monotonic() + penalty_s
        else:
            self._avoided_until_s.pop(broker_name, None)

    def failed(self, broker_name: str) -> None:
        """A broker did not answer, or could not be reached."""
        self.took(broker_name, _SILENT_S)

    def names(self) -> Collection[str]:
        """Those that are to be avoided now."""
        if not self._avoided_until_s:
            return ()
        now_s = time.monotonic()
        return {name for name, until_s in list(self._avoided_until_s.items()) if until_s > now_s}


def avoided_for_s(latency_s: float) -> float:
    """How long a broker gets nothing that took this long."""
    return next((penalty_s for least_s, penalty_s in _TABLE if latency_s >= least_s), 0.0)
