"""A client for the demonstration, as small as one can be: requests over one connection, many at a time.

It is a `Server` that listens nowhere: what it connects to, it may ask.
"""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from escrowmq._core import ConnectionClosed, Record, Response, Server, decode_records
from escrowmq.model.route import MASTER_ID
from escrowmq.protocol.bodies.topic_route import decode_topic_route
from escrowmq.protocol.headers.pull_message import SUBSCRIPTION_IN_REQUEST
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

PATIENCE_S: Final = 10.0
GROUP: Final = "demo"
NEW_TOPICS_ARE_LIKE: Final = "TBW102"
PULL_COUNT_MAX: Final = 32


class Sent(Struct, frozen=True):
    """A message, and the queue that it is for."""

    topic: str
    queue_id: int
    key: str
    body: bytes


class Client:
    """Use it as a context manager."""

    def __init__(self, address: str) -> None:
        self._peers = Server.start([])
        self._connection = self._peers.connect(address)
        self._answered: dict[int, Response] = {}
        self._is_closed = False

    def find_broker(self) -> str:
        """Asks a name server where a broker is that takes new topics.

        Raises:
            ConnectionError: It knows none.
        """
        fields = {"topic": NEW_TOPICS_ARE_LIKE, "acceptStandardJsonOnly": "true"}
        (answer,) = self._answers([self._ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields)])
        if answer is None or answer.code != ResponseCode.SUCCESS:
            raise ConnectionError("the name server knows no broker")
        return decode_topic_route(answer.body).brokers[0].addresses[MASTER_ID]

    def begin_sends(self, messages: Sequence[Sent], *, queues: int) -> list[int]:
        """Sends messages, and returns the numbers of the requests; their topics get so many queues."""
        return [self._ask(RequestCode.SEND_MESSAGE_V2, _send_fields(sent, queues), sent.body) for sent in messages]

    def acknowledged(self, numbers: Sequence[int]) -> list[bool]:
        """Waits for the answers to sends; whether each was stored. The end of the connection answers what is open."""
        return [answer is not None and answer.code == ResponseCode.SUCCESS for answer in self._answers(numbers)]

    def pull(self, queues: Sequence[tuple[str, int, int]]) -> list[list[Record]]:
        """What each queue has from an offset on, without waiting for more."""
        numbers = [self._ask(RequestCode.PULL_MESSAGE, _pull_fields(*queue)) for queue in queues]
        return [
            decode_records(answer.body) if answer is not None and answer.code == ResponseCode.SUCCESS else []
            for answer in self._answers(numbers)
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._peers.close()

    def _ask(self, code: int, fields: dict[str, str], body: bytes | None = None) -> int:
        return self._peers.send(self._connection, code, ext_fields=fields, body=body, one_way=False, language="PYTHON")

    def _answers(self, numbers: Sequence[int]) -> list[Response | None]:
        """The answers in the order of the questions; None where the connection ended before."""
        while not self._is_closed and not self._answered.keys() >= set(numbers):
            events = self._peers.next_batch(timeout_s=PATIENCE_S)
            if not events:
                raise TimeoutError(f"no answer in {PATIENCE_S:.0f} s")
            self._answered |= {event.opaque: event for event in events if isinstance(event, Response)}
            self._is_closed = any(isinstance(event, ConnectionClosed) for event in events)
        return [self._answered.pop(number, None) for number in numbers]


def _send_fields(sent: Sent, queues: int) -> dict[str, str]:
    """A letter for each field: SEND_MESSAGE_V2 keeps frames short."""
    return {
        "a": GROUP,
        "b": sent.topic,
        "c": NEW_TOPICS_ARE_LIKE,
        "d": str(queues),
        "e": str(sent.queue_id),
        "f": "0",
        "g": str(time.time_ns() // 1_000_000),
        "h": "0",
        "i": f"KEYS\x01{sent.key}\x02TAGS\x01demo\x02",
        "j": "0",
        "k": "false",
        "m": "false",
    }


def _pull_fields(topic: str, queue_id: int, offset: int) -> dict[str, str]:
    return {
        "consumerGroup": GROUP,
        "topic": topic,
        "queueId": str(queue_id),
        "queueOffset": str(offset),
        "maxMsgNums": str(PULL_COUNT_MAX),
        "sysFlag": str(SUBSCRIPTION_IN_REQUEST),
        "commitOffset": "0",
        "suspendTimeoutMillis": "0",
        "subscription": "*",
        "subVersion": "0",
        "expressionType": "TAG",
    }
