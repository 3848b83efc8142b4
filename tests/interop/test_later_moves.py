"""Delayed, retried and given-up messages in flight survive a change of broker from ours to Apache's and back.

ours      sends, delays, retries, dead letters; delivers what is due first
Apache's  delivers what is due next, and takes some of its own
ours      delivers the rest
"""

import time
from pathlib import Path
from typing import Literal

import pytest
from tests.compat.broker_process import Client, ServerProcess
from tests.crash.workload import pull
from tests.interop.apache import Apache
from tests.interop.installation import Installation
from tests.interop.ours import BROKER_OPTIONS

from escrowmq import Record
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

pytestmark = pytest.mark.timeout(600)

DELAY_LEVELS = "1s 12s 24s"
FIRST, NEXT, LAST = 1, 2, 3
GROUP = "workers"
TASKS, LATER, RETRIES, DEAD_LETTERS = "tasks", "later", f"%RETRY%{GROUP}", f"%DLQ%{GROUP}"
OURS = (*BROKER_OPTIONS, "--port=0", f"--set=broker.delay_levels={DELAY_LEVELS}")
PATIENCE_S = 60

Ending = Literal["stopped", "killed"]


def send(client: Client, topic: str, key: str, level: int = 0) -> None:
    delay = f"DELAY\x01{level}\x02" if level else ""
    fields = {
        "a": "producers",
        "b": topic,
        "c": "TBW102",
        "d": "4",
        "e": "0",
        "f": "0",
        "g": "1700000000000",
        "h": "0",
        "i": f"UNIQ_KEY\x01{key}\x02{delay}",
        "j": "0",
        "k": "false",
        "m": "false",
    }
    answer = client.ask(RequestCode.SEND_MESSAGE_V2, fields, key.encode())
    assert answer.code == ResponseCode.SUCCESS, answer.remark


def give_back(client: Client, record: Record, level: int) -> None:
    fields = {"offset": str(record.log_offset), "group": GROUP, "delayLevel": str(level), "unitMode": "false"}
    answer = client.ask(RequestCode.CONSUMER_SEND_MSG_BACK, fields)
    assert answer.code == ResponseCode.SUCCESS, answer.remark


def keys(client: Client, topic: str) -> list[str]:
    return [str(record.unique_id) for record in pull(client, topic, 0)]


def await_keys(client: Client, topic: str, wanted: set[str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not wanted <= set(keys(client, topic)):
        assert time.monotonic() < deadline, f"{wanted - set(keys(client, topic))} are not in {topic}"
        time.sleep(0.1)


def end(broker: ServerProcess | Apache, ending: Ending) -> None:
    if ending == "stopped":
        broker.stop()
    elif isinstance(broker, Apache):
        broker.kill()
    else:
        broker.process.kill()
        broker.process.wait()


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_messages_in_flight_survive_a_change_of_broker_and_back(
    installation: Installation, tmp_path: Path, ending: Ending
) -> None:
    data = tmp_path / "store"
    with ServerProcess("broker", data, *OURS) as ours, Client(ours.broker) as client:
        for number in range(4):
            send(client, TASKS, f"task-{number}")
        tasks = {str(record.unique_id): record for record in pull(client, TASKS, 0)}
        for level in (FIRST, NEXT, LAST):
            send(client, LATER, f"ours-{level}", level)
        give_back(client, tasks["task-0"], NEXT)
        give_back(client, tasks["task-1"], LAST)
        give_back(client, tasks["task-2"], -1)
        await_keys(client, LATER, {"ours-1"})
        end(ours, ending)
    options = {"messageDelayLevel": DELAY_LEVELS}
    with (
        Apache(installation, data, scratch=tmp_path, options=options) as apache,
        Client(apache.broker_address) as client,
    ):
        assert keys(client, DEAD_LETTERS) == ["task-2"]
        send(client, LATER, "apaches-2", NEXT)
        send(client, LATER, "apaches-3", LAST)
        give_back(client, tasks["task-3"], LAST)
        await_keys(client, LATER, {"ours-1", "ours-2"})
        await_keys(client, RETRIES, {"task-0"})
        end(apache, ending)
    with ServerProcess("broker", data, *OURS) as ours, Client(ours.broker) as client:
        await_keys(client, LATER, {"ours-3", "apaches-2", "apaches-3"})
        await_keys(client, RETRIES, {"task-1", "task-3"})
        later, retries = pull(client, LATER, 0), pull(client, RETRIES, 0)
        assert {record.reconsume_times for record in retries} == {1}
        assert {record.find_property("RETRY_TOPIC") for record in retries} == {TASKS}
        assert keys(client, DEAD_LETTERS) == ["task-2"]
        # A broker that is killed may deliver again.
        if ending == "stopped":
            found = [record.unique_id for record in later]
            assert sorted(map(str, found)) == ["apaches-2", "apaches-3", "ours-1", "ours-2", "ours-3"]
            assert [record.unique_id for record in retries] == ["task-0", "task-1", "task-3"]
