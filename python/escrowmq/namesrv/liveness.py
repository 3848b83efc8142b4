"""When a broker is gone: its connection is, or it was silent for too long. Says so, and the tables follow."""

from collections.abc import Callable

from escrowmq.namesrv.registration import LiveBroker
from escrowmq.namesrv.route_table import RouteTable


class Liveness:
    """Looks for silent brokers at intervals. Every reading of the clock is passed in."""

    def __init__(
        self,
        routes: RouteTable,
        *,
        started_at_ms: int,
        first_scan_ms: int,
        scan_interval_ms: int,
        on_gone: Callable[[LiveBroker, str], None],
    ) -> None:
        self._routes = routes
        self._scan_interval_ms = scan_interval_ms
        self._next_scan_at_ms = started_at_ms + first_scan_ms
        self._on_gone = on_gone

    def connection_closed(self, connection: int, reason: str) -> None:
        """A connection closed, failed or was idle for too long: what registered by it is gone."""
        for gone in self._routes.drop_connection(connection):
            self._on_gone(gone, reason)

    def scan(self, now_ms: int) -> None:
        """Drops silent brokers, if it is time to look."""
        if now_ms < self._next_scan_at_ms:
            return
        # Not from now: a late scan does not put off the next, and scans that were missed are not made up for.
        missed = (now_ms - self._next_scan_at_ms) // self._scan_interval_ms
        self._next_scan_at_ms += (missed + 1) * self._scan_interval_ms
        for gone in self._routes.drop_overdue(now_ms):
            self._on_gone(gone, "silent")

    def wait_ms(self, now_ms: int) -> int:
        """How long it is until the next scan."""
        return max(0, self._next_scan_at_ms - now_ms)
