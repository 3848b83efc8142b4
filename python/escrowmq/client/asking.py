"""The step that most operations are made of: a question to a server, and its answer."""

from msgspec import Struct

from escrowmq._core import OutgoingRequest, Response
from escrowmq.client.engine import Engine
from escrowmq.client.operation import Cancel, Settle
from escrowmq.protocol.headers.encoding import encode_header
from escrowmq.protocol.question import Question


class Asking(Struct, frozen=True):
    """A question to a numeric address; its answer."""

    address: str
    request: OutgoingRequest
    timeout_s: float

    def begin(self, engine: Engine, settle: Settle) -> Cancel:
        """Asks, and has the dispatch thread tell."""
        asked = engine.peers.ask(engine.mail, self.address, self.request, settle)
        engine.deadlines.expect(asked, self.timeout_s)
        return asked.forget

    def wait(self, engine: Engine, timeout_s: float) -> Response:
        """Asks, and sleeps until the answer is there.

        Raises:
            TransportError: There is none.
        """
        return engine.peers.ask_and_wait(self.address, self.request, min(timeout_s, self.timeout_s))


def outgoing(question: Question | OutgoingRequest) -> OutgoingRequest:
    """A question as it is sent."""
    if isinstance(question, OutgoingRequest):
        return question
    fields = None if question.header is None else encode_header(question.header)
    return OutgoingRequest(question.code, ext_fields=fields, body=question.body, remark=question.remark)
