"""RocketMQ's clients for Go and Node, unmodified, against `escrowmq up`: they send, read by tag, and share queues."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.broker_process import Client, ServerProcess
from tests.compat.name_server_process import await_value
from tests.interop.other_clients import GO, NODE, ClientProcess, Language

from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

TOPIC = "other-orders"
GROUP = "other-readers"
QUEUES = 4

# The first run fetches and compiles.
pytestmark = pytest.mark.timeout(600)


class Stage:
    """Our servers, a producer, and consumers as they are needed."""

    def __init__(self, command: list[str], folder: Path, name_server: str) -> None:
        self._command, self._folder, self._name_server = command, folder, name_server
        self._clients: list[ClientProcess] = []
        self._sent = 0
        self._producer = self._start("produce")

    def consumer(self) -> ClientProcess:
        """One more member of the group, which wants the tag `wanted`."""
        return self._start("consume", GROUP, "wanted")

    def send(self, count: int, tag: str = "wanted") -> set[str]:
        """Sends messages and returns their bodies; all are stored, and each queue gets its turn."""
        bodies = [f"{tag}-{number}" for number in range(self._sent, self._sent + count)]
        self._producer.write(*(f"{tag} {body}" for body in bodies))
        self._sent += count
        await_value(lambda: len(self._producer.lines()), self._sent)
        stored = self._producer.lines()[-count:]
        assert {status for status, _, _ in stored} <= {"0", "SEND_OK"}
        assert len({queue for _, queue, _ in stored}) == min(count, QUEUES)
        return set(bodies)

    def close(self) -> None:
        for client in self._clients:
            client.kill()

    def _start(self, kind: str, *arguments: str) -> ClientProcess:
        said = self._folder / f"{kind}-{len(self._clients)}"
        client = ClientProcess([*self._command, kind, self._name_server, TOPIC, *arguments], said)
        self._clients.append(client)
        return client


@pytest.fixture(params=[GO, NODE], ids=lambda language: language.name)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    language: Language = request.param
    if missing := language.missing_tools:
        pytest.skip(f"needs {', '.join(missing)} on the path, to run RocketMQ's client for {language.name}")
    command = language.installed()
    with ServerProcess("up", tmp_path / "data", "--port=0", "--namesrv-port=0") as server:
        if not language.makes_topics:
            make_topic(server)
        stage = Stage(command, tmp_path, server.name_server)
        yield stage
        stage.close()


def make_topic(server: ServerProcess) -> None:
    """As an operator does."""
    fields = {
        "topic": TOPIC,
        "defaultTopic": "TBW102",
        "readQueueNums": str(QUEUES),
        "writeQueueNums": str(QUEUES),
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    with Client(server.broker) as client:
        assert client.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, fields).code == ResponseCode.SUCCESS


def test_it_reads_what_it_sent_by_tag_and_goes_on_where_its_group_stopped(stage: Stage) -> None:
    """What a consumer was about to finish when it stopped may come again, what it had finished before does not."""
    first = stage.send(8)
    reader = stage.consumer()
    await_value(reader.bodies, first)
    stage.send(4, tag="unwanted")
    second = stage.send(4)
    await_value(reader.bodies, first | second)
    reader.stop()
    third = stage.send(4)
    later = stage.consumer()
    await_value(lambda: third <= later.bodies(), expected=True)
    assert later.bodies() <= second | third


def test_two_consumers_share_the_queues_and_one_takes_over_what_the_other_leaves(stage: Stage) -> None:
    stage.send(1)
    first, second = stage.consumer(), stage.consumer()

    def is_shared() -> bool:
        """Whether each of the two gets half of what is sent."""
        bodies = stage.send(QUEUES)
        await_value(lambda: bodies <= first.bodies() | second.bodies(), expected=True)
        return len(bodies & first.bodies()) == len(bodies & second.bodies()) == QUEUES // 2

    await_value(is_shared, expected=True)
    bodies = stage.send(10 * QUEUES)
    await_value(lambda: bodies <= first.bodies() | second.bodies(), expected=True)
    assert bodies & first.bodies()
    assert bodies & second.bodies()
    second.stop()
    bodies = stage.send(QUEUES)
    await_value(lambda: bodies <= first.bodies(), expected=True)
