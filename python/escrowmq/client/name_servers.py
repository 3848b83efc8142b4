"""Asking name servers: the one that answered last, and the others in turn where it does not."""

from collections.abc import Callable, Sequence
from typing import Final

from escrowmq._core import Response
from escrowmq.client.operation import Operation
from escrowmq.client.routes import no_topic
from escrowmq.errors import BadBody, EscrowError, NotReachable, TransportError
from escrowmq.model.route import TopicRouteData
from escrowmq.protocol.bodies.topic_route import decode_topic_route
from escrowmq.protocol.headers.get_route_info import GetRouteInfo
from escrowmq.protocol.question import Question, refusal
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode


class NameServers:
    """The name servers of one client."""

    def __init__(
        self, addresses: Sequence[str], ask: Callable[[str, Question, float], Operation[Response]], *, timeout_s: float
    ) -> None:
        self._addresses: Final = tuple(addresses)
        self._ask = ask
        self._timeout_s = timeout_s
        self._first = 0

    def route(self, topic: str) -> Operation[TopicRouteData]:
        """Where a topic is.

        Raises:
            NotThere: The name server knows no such topic.
            BadBody: What it says is no route.
            Refused: It refuses.
            TransportError: None of them answers.
        """
        header = GetRouteInfo(topic, accepts_strict_json_only=True)
        question = Question(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        failure: EscrowError | None = None
        first = self._first
        for place in range(first, first + len(self._addresses)):
            address = self._addresses[place % len(self._addresses)]
            try:
                answer = yield from self._ask(address, question, self._timeout_s)
                if answer.code == ResponseCode.TOPIC_NOT_EXIST:
                    raise no_topic(topic)
                if answer.code != ResponseCode.SUCCESS:
                    raise refusal(address, question, answer)
                data = decode_topic_route(answer.body)
            except TransportError as error:
                failure = failure or error
            except BadBody as error:
                failure = BadBody(f"name server {address}: {error}")
            else:
                self._first = place % len(self._addresses)
                return data
        raise failure or NotReachable("there is no name server to ask", address="")
