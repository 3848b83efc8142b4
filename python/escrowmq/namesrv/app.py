"""The composition root: builds the name server and does its work on the thread that asks; `cli/serving.py` asks.

net (its own thread) ── events ──▶ step ──▶ processors ──▶ tables
                     ◀─ answers ──          liveness ───▶ tables
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import structlog

from escrowmq import _core
from escrowmq.config import NameServerConfig
from escrowmq.errors import BadFrame
from escrowmq.namesrv import metrics, processors
from escrowmq.namesrv.context import Context
from escrowmq.namesrv.durable_file import DurableFile
from escrowmq.namesrv.kv_config import KvConfig
from escrowmq.namesrv.liveness import Liveness
from escrowmq.namesrv.registration import LiveBroker
from escrowmq.namesrv.route_table import RouteTable
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.server_config import LimitsConfig, own_settings
from escrowmq.telemetry.metrics import Reading

KV_FILE_NAME = "kvConfig.json"
BATCH_COUNT_MAX = 256

Event: TypeAlias = (
    _core.Request
    | _core.Response
    | _core.RequestWritten
    | _core.ConnectionOpened
    | _core.ConnectionClosed
    | _core.LogVisible
)

_log = structlog.get_logger()


class NameServer:
    """A name server that listens from its making to its closing. Use it as a context manager."""

    def __init__(self, config: NameServerConfig, *, data: Path, clock: _core.Clock | None = None) -> None:
        self._now_ms = (clock or _core.Clock()).monotonic_ms
        started_at_ms = self._now_ms()
        routes = RouteTable(broker_timeout_ms=config.broker_timeout_ms)
        self._context = Context(
            routes=routes,
            kv_config=KvConfig(DurableFile(data / KV_FILE_NAME)),
            config=config,
            now_ms=self._now_ms,
            started_at_ms=started_at_ms,
        )
        self._liveness = Liveness(
            routes,
            started_at_ms=started_at_ms,
            first_scan_ms=config.first_scan_ms,
            scan_interval_ms=config.scan_interval_ms,
            on_gone=self._broker_gone,
        )
        # The last thing: whoever connects finds everything in place.
        self._server = _core.Server.start(
            [_listen_address(config.host, config.port)], limits=_core.Limits(**own_settings(config, LimitsConfig))
        )

    @property
    def addresses(self) -> list[str]:
        """Where it listens."""
        return self._server.addresses

    def metrics(self) -> Iterator[Reading]:
        """What a monitor reads: what the tables say now, and the rest when it is gone through, on any thread."""
        return metrics.readings(metrics.overview(self._context), self._server)

    def unready(self) -> str | None:
        """Why routes are refused at the moment; None if they are not."""
        return None if self._context.is_ready else "brokers have time to register first"

    @property
    def server(self) -> _core.Server:
        """The server, for those who look at it."""
        return self._server

    def fileno(self) -> int:
        """A descriptor that is readable while there is something to do."""
        return self._server.fileno()

    def wait_ms(self) -> float:
        """How long nothing has to be done unless the descriptor says so."""
        return self._liveness.wait_ms(self._now_ms())

    def step(self) -> None:
        """Answers what waits, and looks for silent brokers if it is time to."""
        answers = list(self._answers(self._server.next_batch(count_max=BATCH_COUNT_MAX, timeout_s=0)))
        try:
            self._server.answer(answers)
        except BadFrame:
            self._answer_one_by_one(answers)
        self._liveness.scan(self._now_ms())

    def close(self) -> None:
        """Sends what is answered, then closes every connection."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer_one_by_one(self, answers: Iterable[tuple[_core.Request, _core.Answer]]) -> None:
        """After a batch that was refused: who asked for what no frame can hold is told so, the others get theirs."""
        for request, answer in answers:
            try:
                self._server.answer([(request, answer)])
            except BadFrame as error:
                _log.warning("answer refused", code=request.code, peer=request.peer, reason=str(error))
                self._server.answer([(request, _core.Answer(ResponseCode.SYSTEM_ERROR, str(error)))])

    def _answers(self, events: Iterable[Event]) -> Iterator[tuple[_core.Request, _core.Answer]]:
        for event in events:
            if isinstance(event, _core.Request):
                answer = processors.process(self._context, event)
                yield (
                    event,
                    _core.Answer(answer.code, answer.remark, ext_fields=answer.ext_fields, body=answer.body or None),
                )
            elif isinstance(event, _core.ConnectionClosed):
                self._liveness.connection_closed(event.connection, event.reason)

    def _broker_gone(self, broker: LiveBroker, reason: str) -> None:
        _log.warning(
            "broker gone",
            cluster=broker.cluster,
            broker=broker.broker_name,
            broker_id=broker.broker_id,
            address=broker.address,
            reason=reason,
        )
        # A silent broker that still has its connection is to notice, and to register again.
        self._server.close_connection(broker.connection)


def _listen_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
