"""What the handlers of the name server work on."""

from collections.abc import Callable
from dataclasses import dataclass

from escrowmq.config import NameServerConfig
from escrowmq.namesrv.kv_config import KvConfig
from escrowmq.namesrv.route_table import RouteTable


@dataclass
class Context:
    """Tables, settings and a clock. Only one thread uses it."""

    routes: RouteTable
    kv_config: KvConfig
    config: NameServerConfig
    now_ms: Callable[[], int]
    started_at_ms: int

    @property
    def is_ready(self) -> bool:
        """Whether brokers had time to register; else routes would be half known."""
        waited_ms = self.now_ms() - self.started_at_ms
        return not self.config.waits_for_brokers or waited_ms >= self.config.wait_for_brokers_s * 1_000
