"""A producer of transactions, frame by frame: prepares, ends, and answers questions."""

import itertools
import json
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from tests.unit.server.peer import Peer

from escrowmq import Frame, decode_records
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

COMMIT, ROLLBACK, UNKNOWN = "8", "12", "0"

_opaques = itertools.count(1)


class TransactionPeer:
    """A producer of the group `shop`. Use it as a context manager."""

    def __init__(self, address: str, *, group: str = "shop") -> None:
        self.group = group
        self.peer = Peer(address)
        # Questions that came while it waited for an answer.
        self.questions: list[Frame] = []
        self._received: list[Frame] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.peer.socket.close()

    def ask(self, code: int, fields: Mapping[str, str] | None = None, body: bytes | None = None) -> Frame:
        """The answer to a request."""
        request = Frame(code, opaque=next(_opaques), ext_fields=fields, body=body, language="JAVA", version=513)
        self.peer.send(request)
        while True:
            frame = self._next()
            if frame.is_response:
                assert frame.opaque == request.opaque
                return frame
            self.questions.append(frame)

    def _next(self) -> Frame:
        if not self._received:
            self._received = self.peer.receive()
        return self._received.pop(0)

    def heartbeat(self) -> None:
        """Says that it is there."""
        client = {
            "clientID": f"c{next(_opaques)}",
            "producerDataSet": [{"groupName": self.group}],
            "consumerDataSet": [],
        }
        assert self.ask(RequestCode.HEART_BEAT, body=json.dumps(client).encode()).code == ResponseCode.SUCCESS

    def prepare(self, unique_id: str, *, topic: str = "orders", body: bytes = b"body", **more: str) -> Frame:
        """Sends a half message."""
        pairs = {"TRAN_MSG": "true", "PGROUP": self.group, "UNIQ_KEY": unique_id, **more}
        text = "".join(f"{name}\x01{value}\x02" for name, value in pairs.items())
        fields = {
            "a": self.group,
            "b": topic,
            "c": "TBW102",
            "d": "4",
            "e": "0",
            "f": "4",
            "g": "1",
            "h": "0",
            "i": text,
        }
        return self.ask(RequestCode.SEND_MESSAGE_V2, {**fields, "j": "0", "k": "false", "m": "false"}, body)

    def end(self, prepared: Frame, decision: str) -> Frame:
        """Decides what a prepare was answered with, and waits for the answer."""
        fields = prepared.ext_fields
        return self.ask(
            RequestCode.END_TRANSACTION,
            end_fields(
                self.group,
                fields["transactionId"],
                half_offset=fields["queueOffset"],
                log_offset=str(int(fields["msgId"][-16:], 16)),
                decision=decision,
            ),
        )

    def question(self) -> Frame:
        """The next question about one of its transactions."""
        frame = self.questions.pop(0) if self.questions else self._next()
        assert frame.code == RequestCode.CHECK_TRANSACTION_STATE
        assert frame.is_one_way
        return frame

    def reply(self, question: Frame, decision: str) -> None:
        """Answers a question as Apache's clients do, one-way."""
        fields = question.ext_fields
        (half,) = decode_records(bytes(question.body))
        assert half.unique_id == fields["transactionId"]
        decided = end_fields(
            self.group,
            fields["transactionId"],
            half_offset=fields["tranStateTableOffset"],
            log_offset=fields["commitLogOffset"],
            decision=decision,
        )
        self.peer.send(
            Frame(
                RequestCode.END_TRANSACTION,
                opaque=next(_opaques),
                flag=2,
                ext_fields={**decided, "fromTransactionCheck": "true"},
            )
        )


def end_fields(group: str, unique_id: str, *, half_offset: str, log_offset: str, decision: str) -> dict[str, str]:
    """The fields of END_TRANSACTION."""
    return {
        "producerGroup": group,
        "tranStateTableOffset": half_offset,
        "commitLogOffset": log_offset,
        "commitOrRollback": decision,
        "msgId": unique_id,
        "transactionId": unique_id,
        "fromTransactionCheck": "false",
    }
