"""What the demonstration asks a broker, many things at a time."""

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from escrowmq._core import Record, Response, decode_records
from escrowmq.admin import requests
from escrowmq.admin.client import Admin
from escrowmq.admin.connections import Connections, Reply
from escrowmq.model.names import DEFAULT_TOPIC
from escrowmq.model.route import MASTER_ID
from escrowmq.protocol.properties import KEYS, TAGS
from escrowmq.protocol.question import Question
from escrowmq.protocol.response_codes import ResponseCode

PATIENCE_S: Final = 10.0
GROUP: Final = "demo"


class Sent(Struct, frozen=True):
    """A message, and the queue that it is for."""

    topic: str
    queue_id: int
    key: str
    body: bytes


def find_broker(name_server: str) -> str:
    """Asks a name server where a broker is that takes new topics.

    Raises:
        NotThere: It knows none.
    """
    with Admin([name_server], patience_s=PATIENCE_S) as admin:
        return admin.route(DEFAULT_TOPIC).brokers[0].addresses[MASTER_ID]


class Client:
    """Use it as a context manager."""

    def __init__(self, broker: str) -> None:
        self._broker = broker
        self._connections = Connections(patience_s=PATIENCE_S)

    def begin_sends(self, messages: Sequence[Sent], *, queues: int) -> list[int]:
        """Sends messages, and returns the numbers of the requests; their topics get so many queues."""
        return [self._connections.begin(self._broker, _send(sent, queues)) for sent in messages]

    def acknowledged(self, numbers: Sequence[int]) -> list[bool]:
        """Waits for the answers to sends; whether each was stored. The end of the connection answers what is open."""
        replies = self._connections.replies(numbers)
        return [isinstance(reply, Response) and reply.code == ResponseCode.SUCCESS for reply in replies]

    def pull(self, queues: Sequence[tuple[str, int, int]]) -> list[list[Record]]:
        """What each queue has from an offset on, without waiting for more."""
        numbers = [self._connections.begin(self._broker, requests.pull(*queue, group=GROUP)) for queue in queues]
        return [_records(reply) for reply in self._connections.replies(numbers)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connections.close()


def _send(sent: Sent, queues: int) -> Question:
    properties = {KEYS: sent.key, TAGS: "demo"}
    return requests.send(
        sent.topic, sent.body, group=GROUP, queue_id=sent.queue_id, properties=properties, new_topic_queues=queues
    )


def _records(reply: Reply) -> list[Record]:
    if isinstance(reply, Response) and reply.code == ResponseCode.SUCCESS:
        return decode_records(reply.body)
    return []
