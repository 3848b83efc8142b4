"""Whole conversations of Apache's clients, asked of our servers in one process: each answer is that of Apache's.

All of it is asked, in the order in which Apache answered, but for what `NOT_ASKED` names with its reason. Where in the
log a message stands is compared too: up to the first transaction the logs are the same, byte for byte.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.compat.broker_process import Client, ServerProcess
from tests.golden.recordings import DATA, OPTIONS
from tests.golden.whole_conversation import BROKER, NAME_SERVER, Turn, in_our_time, recorded, said
from tests.unit.server.peer import Peer

from escrowmq import Frame, Record
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

RECORDINGS = sorted(path.name for path in DATA.glob("frames-*.jsonl.gz"))
RECORDED_BROKER = "127.0.0.1:20911"
PAYMENTS = "payments"

TRANSACTIONS = "transactions are apart; what they left in their topic is sent in plain messages instead"
NOT_ASKED = {
    (BROKER, RequestCode.SEND_MESSAGE_V2, PAYMENTS): TRANSACTIONS,
    (BROKER, RequestCode.END_TRANSACTION, PAYMENTS): TRANSACTIONS,
    (BROKER, RequestCode.END_TRANSACTION, "RMQ_SYS_TRANS_HALF_TOPIC"): TRANSACTIONS,
    (NAME_SERVER, RequestCode.REGISTER_BROKER, ""): (
        "our own broker registers itself; what Apache's told its name server is told ours in test_name_server.py"
    ),
}
"""By server, code and topic: what is not asked, and why."""


class Replay:
    """Our name server and broker in one process, and the clients of a recording."""

    def __init__(self, servers: ServerProcess, stack: ExitStack) -> None:
        self._servers = servers
        self._stack = stack
        self._peers: dict[tuple[str, int], Peer] = {}
        # What connections received besides the answers that were waited for.
        self.told: list[tuple[int, Frame]] = []

    def ask(self, turn: Turn) -> None:
        self._peer(turn).send(in_our_time(turn.request))

    def await_answer(self, turn: Turn) -> Frame:
        while frames := self._peer(turn).receive():
            answers = [frame for frame in frames if frame.is_response and frame.opaque == turn.request.opaque]
            self.told += [(turn.connection, frame) for frame in frames if frame not in answers]
            if answers:
                return answers[0]
        raise ConnectionResetError(f"the server closed the connection upon {turn.request}")

    def _peer(self, turn: Turn) -> Peer:
        key = (turn.server, turn.connection)
        if key not in self._peers:
            address = self._servers.broker if turn.server == BROKER else self._servers.name_server
            self._peers[key] = self._stack.enter_context(Peer(address))
        return self._peers[key]


def send_plainly(client: Client, records: list[Record]) -> None:
    """Puts messages where transactions put them."""
    for record in records:
        fields = {
            "a": "order-service",
            "b": record.topic,
            "c": "TBW102",
            "d": "4",
            "e": str(record.queue_id),
            "f": "0",
            "g": str(record.born_timestamp_ms),
            "h": str(record.flag),
            "i": "".join(f"{name}\x01{value}\x02" for name, value in record.properties.items() if name != "TRAN_MSG"),
            "j": "0",
            "k": "false",
            "m": "false",
        }
        answer = client.ask(RequestCode.SEND_MESSAGE_V2, fields, bytes(record.body))
        assert answer.code == ResponseCode.SUCCESS, answer.remark


def unasked(told: list[tuple[int, Frame]]) -> Counter[tuple[int, int, bool, str]]:
    """What a broker tells its clients of their groups, and pulls that it answers though Apache did not."""
    return Counter(
        (connection, frame.code, frame.is_response, frame.ext_fields.get("consumerGroup", ""))
        for connection, frame in told
        if frame.code != RequestCode.CHECK_TRANSACTION_STATE
    )


def query(client: Client, place: tuple[str, str, str]) -> str:
    """The consumer offset that the broker has for a group, a topic and a queue."""
    fields = dict(zip(("consumerGroup", "topic", "queueId"), place, strict=True))
    return client.ask(RequestCode.QUERY_CONSUMER_OFFSET, fields).ext_fields["offset"]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[ServerProcess]:
    settings = [f"--set=store.{name}={value}" for name, value in OPTIONS.items()]
    with ServerProcess("up", tmp_path / "data", "--port=0", "--namesrv-port=0", *settings) as process:
        yield process
        assert process.stop() == 0


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_whole_conversation_is_answered_as_apache_did(name: str, servers: ServerProcess) -> None:
    conversation = recorded(name)
    not_asked: Counter[tuple[str, int, str]] = Counter()
    with ExitStack() as stack:
        replay = Replay(servers, stack)
        client = stack.enter_context(Client(servers.broker))
        for turn in conversation.turns:
            kind = (turn.server, turn.request.code, turn.topic)
            if kind in NOT_ASKED:
                if kind[2] == PAYMENTS and not any(topic == PAYMENTS for _, _, topic in not_asked):
                    send_plainly(client, conversation.found(PAYMENTS))
                not_asked[kind] += 1
                continue
            replay.ask(turn)
            if turn.answer is not None:
                answer = replay.await_answer(turn)
                # We write the header as the client does; Apache's servers, as they were told to at their start.
                assert answer.header_kind == turn.request.header_kind
                ours = said(turn, answer, broker=servers.broker)
                assert ours == said(turn, turn.answer, broker=RECORDED_BROKER), turn.request
        # A pull that Apache held until its client was gone is held here too, so no answer comes unasked.
        assert unasked(replay.told) == unasked(conversation.told)
        commits = conversation.commits()
        assert {place: query(client, place) for place in commits} == commits
    assert not_asked.keys() == NOT_ASKED.keys(), "a reason without a request is none"
