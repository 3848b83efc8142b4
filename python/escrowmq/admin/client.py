"""Name servers, and through them brokers: who is asked what, and what a refusal becomes."""

from collections.abc import Collection, Iterable, Sequence
from types import TracebackType
from typing import Self, TypeAlias

from escrowmq._core import Response
from escrowmq.admin.connections import PATIENCE_S, Connections, Reply
from escrowmq.errors import NotReachable, NotThere, Refused, TransportError
from escrowmq.model.route import MASTER_ID, BrokerData, TopicRouteData
from escrowmq.protocol.bodies.cluster_info import ClusterInfo, decode_cluster_info
from escrowmq.protocol.bodies.topic_route import decode_topic_route
from escrowmq.protocol.headers.get_route_info import GetRouteInfo
from escrowmq.protocol.question import Question, refusal
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

Outcome: TypeAlias = Response | Refused | TransportError
"""What comes of a question: a success, or what stands in its way."""

SUCCESS: Collection[int] = (ResponseCode.SUCCESS,)


class Admin:
    """Use it as a context manager.

    Args:
        name_servers: Where name servers are, as `HOST:PORT`. The first that can be reached is asked; all are told.
        patience_s: How long a server may be silent.
    """

    def __init__(self, name_servers: Sequence[str], *, patience_s: float = PATIENCE_S) -> None:
        self._name_servers = list(name_servers)
        self.connections = Connections(patience_s=patience_s)

    @property
    def name_servers(self) -> list[str]:
        """Where they are; the one that answered last comes first."""
        return list(self._name_servers)

    def ask(self, address: str, question: Question, *, accepted: Collection[int] = SUCCESS) -> Response:
        """Asks one server.

        Raises:
            Refused: The code of the answer is none of the accepted ones.
            TransportError: There is no answer.
        """
        return expect(judge(address, question, self.connections.ask(address, question), accepted=accepted))

    def ask_all(
        self, questions: Iterable[tuple[str, Question]], *, accepted: Collection[int] = SUCCESS
    ) -> list[Outcome]:
        """Asks many things at a time; what comes of each, in their order."""
        asked = [(address, question, self.connections.begin(address, question)) for address, question in questions]
        replies = self.connections.replies([number for _, _, number in asked])
        return [
            judge(address, question, reply, accepted=accepted)
            for (address, question, _), reply in zip(asked, replies, strict=True)
        ]

    def ask_name_server(self, question: Question) -> Response:
        """Asks the first name server that can be reached.

        Raises:
            Refused: The answer is no success.
            TransportError: None can be reached, or the one that can does not answer.
        """
        unreachable: NotReachable | None = None
        for address in self.name_servers:
            try:
                answer = self.ask(address, question)
            except NotReachable as error:
                unreachable = error
            else:
                # From now on it is the first, so that what is asked next does not wait for the others again.
                self._name_servers.sort(key=lambda other: other != address)
                return answer
        raise unreachable or NotReachable("there is no name server to ask", address="")

    def tell_name_servers(self, question: Question) -> list[Response]:
        """Asks every name server the same.

        Raises:
            Refused: One of them refuses.
            TransportError: One of them does not answer.
        """
        return [self.ask(address, question) for address in self._name_servers]

    def cluster_info(self) -> ClusterInfo:
        """All brokers."""
        return decode_cluster_info(self.ask_name_server(Question(RequestCode.GET_BROKER_CLUSTER_INFO)).body)

    def route(self, topic: str) -> TopicRouteData:
        """Where a topic is.

        Raises:
            NotThere: The name server knows no such topic.
        """
        try:
            return decode_topic_route(self.ask_name_server(route_question(topic)).body)
        except Refused as error:
            if error.code != ResponseCode.TOPIC_NOT_EXIST:
                raise
            raise NotThere(f"there is no topic {topic!r}", kind="topic", name=topic) from error

    def masters(self, *, broker: str | None = None, cluster: str | None = None) -> dict[str, str]:
        """Names and addresses of masters: of a broker by its name or address, of a cluster, or of all there are.

        Raises:
            NotThere: There is no such broker, no such cluster, or no broker at all.
        """
        info = self.cluster_info()
        if cluster is not None and cluster not in info.clusters:
            raise NotThere(f"there is no cluster {cluster!r}", kind="cluster", name=cluster)
        found = {
            data.name: data.addresses[MASTER_ID]
            for data in sorted(info.brokers.values(), key=lambda data: data.name)
            if data.has_master
            and cluster in (None, data.cluster)
            and broker in (None, data.name, data.addresses[MASTER_ID])
        }
        if not found:
            wanted = "no broker" if broker is None else f"no broker {broker!r}"
            raise NotThere(f"the name server knows {wanted} that is a master", kind="broker", name=broker or "")
        return found

    def close(self) -> None:
        """Closes all connections."""
        self.connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def route_question(topic: str) -> Question:
    """GET_ROUTEINFO_BY_TOPIC."""
    return Question(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfo(topic, accepts_strict_json_only=True))


def reading_address(broker: BrokerData) -> str:
    """Where the queues of a broker can be read: its master, or the slave that stands in."""
    return broker.addresses[min(broker.addresses)]


def expect(outcome: Outcome) -> Response:
    """The success, or what stands in its way, raised.

    Raises:
        Refused: The answer is no success.
        TransportError: There is no answer.
    """
    if isinstance(outcome, Response):
        return outcome
    raise outcome


def judge(address: str, question: Question, reply: Reply, *, accepted: Collection[int] = SUCCESS) -> Outcome:
    """What a reply means: an answer whose code is none of the accepted ones is a refusal."""
    if isinstance(reply, TransportError) or reply.code in accepted:
        return reply
    return refusal(address, question, reply)
