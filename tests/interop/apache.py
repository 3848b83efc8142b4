"""A real Apache RocketMQ on loopback: started on a store directory and spoken to through its Java client.

Nothing here knows EscrowMQ. Every wait polls with a deadline, every process started here is gone when its `with` block
is left, and whatever goes wrong inside such a block carries the end of Apache's logs with it.
"""

import json
import os
import random
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.interop.installation import Installation
from tests.interop.java_process import ApacheError, JavaProcess, Row, log_tail, run_program

BROKER_NAME = "broker-a"
CLUSTER_NAME = "DefaultCluster"

CLIENT_DEADLINE_S = 120


# --- files ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileSizes:
    """How large the files of a store are. Apache refuses a directory whose files have another size than configured."""

    segment_size_bytes: int
    queue_file_entries: int
    index_slots: int
    index_entries: int

    def broker_options(self) -> dict[str, str]:
        """The same sizes as keys of a broker's configuration."""
        return {
            "mappedFileSizeCommitLog": str(self.segment_size_bytes),
            "mappedFileSizeConsumeQueue": str(self.queue_file_entries * 20),
            "maxHashSlotNum": str(self.index_slots),
            "maxIndexNum": str(self.index_entries),
        }


SMALL_FILES = FileSizes(segment_size_bytes=16 * 1024, queue_file_entries=50, index_slots=100, index_entries=200)
"""Small enough that a few hundred messages roll over several files of every kind."""


def declare_topics(store: Path, queue_counts: Mapping[str, int]) -> None:
    """Adds topics to config/topics.json, without which Apache does not serve queues that it finds on disk."""
    path = store / "config" / "topics.json"
    known: Row = json.loads(path.read_text()) if path.exists() else {"topicConfigTable": {}}
    for topic, queue_count in queue_counts.items():
        known["topicConfigTable"][topic] = {
            "attributes": {},
            "order": False,
            "perm": 6,
            "readQueueNums": queue_count,
            "topicFilterType": "SINGLE_TAG",
            "topicName": topic,
            "topicSysFlag": 0,
            "writeQueueNums": queue_count,
        }
    counter = known.get("dataVersion", {}).get("counter", 0) + 1
    known["dataVersion"] = {"counter": counter, "stateVersion": 0, "timestamp": time.time_ns() // 1_000_000}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known, indent="\t"))


# --- processes --------------------------------------------------------------------------------------------------------


class Apache:
    """A name server and a broker that has a store directory open, from the `with` statement to the end of its block.

    Both listen on loopback only, except for the replication port, which Apache binds to every address. Given the
    address of another name server, the broker and all clients use that one, and Apache's is not started.
    """

    def __init__(
        self,
        installation: Installation,
        store: Path,
        *,
        scratch: Path,
        sizes: FileSizes = SMALL_FILES,
        options: Mapping[str, str] | None = None,
        name_server_address: str = "",
    ) -> None:
        self._installation = installation
        self._home = Path(tempfile.mkdtemp(prefix="apache-", dir=scratch))
        self._store = store
        self._options = {**_BROKER_DEFAULTS, **sizes.broker_options(), **(options or {})}
        self._servers: list[JavaProcess] = []
        self._name_server_address = name_server_address
        self._broker_address = ""

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException as error:
            self._abandon(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._abandon(error)

    def stop(self) -> None:
        """Stops the broker in good order."""
        self._broker.stop()

    def kill(self) -> None:
        """Ends the broker as a crash would."""
        self._broker.kill()

    def dump(self, *selectors: str) -> list[Row]:
        """Every message that each selector (a topic, or `topic#key`) finds."""
        return self._run_client("Dump", *selectors)

    def produce(self, topic: str, *, rounds: int, prefix: str) -> list[Row]:
        """Sends messages of every kind, transactions included, and returns what was sent."""
        return self._run_client("Produce", topic, str(rounds), prefix)

    def answer(self, group: str, topic: str, *, transactions: int) -> list[Row]:
        """Answers the broker's questions about this many half messages of a group, and returns the questions."""
        return self._run_client("Answer", group, topic, str(transactions))

    def admin(self, command: str, *arguments: str) -> str:
        """What `mqadmin` prints."""
        home = self._home / "admin"
        home.mkdir(exist_ok=True)
        asked = self._installation.command(
            "org.apache.rocketmq.tools.command.MQAdminStartup",
            [command, "-n", self._name_server_address, *arguments],
            heap="128m",
            home=home,
        )
        done = subprocess.run(
            asked, capture_output=True, text=True, timeout=CLIENT_DEADLINE_S, check=False,
            env={**os.environ, "ROCKETMQ_HOME": str(home)},
        )  # fmt: skip
        if done.returncode != 0:
            raise ApacheError(f"mqadmin {command} exited with {done.returncode}: {done.stdout}{done.stderr}")
        # What is left out is the talk of its logging library about itself.
        return "".join(line for line in done.stdout.splitlines(keepends=True) if "|-" not in line)

    @property
    def name_server_address(self) -> str:
        """Where the name server listens that the broker and all clients use."""
        return self._name_server_address

    @property
    def broker_address(self) -> str:
        """Where the broker listens."""
        return self._broker_address

    @property
    def _broker(self) -> JavaProcess:
        return self._servers[-1]

    def _start(self) -> None:
        if not self._name_server_address:
            self._start_name_server()
        self._start_broker()

    def _start_name_server(self) -> None:
        port = free_port_group(1)
        self._name_server_address = f"127.0.0.1:{port}"
        self._launch(
            "namesrv",
            "org.apache.rocketmq.namesrv.NamesrvStartup",
            {"listenPort": str(port), "bindAddress": "127.0.0.1", "kvConfigPath": str(self._home / "kv.json")},
            heap="64m",
            says_when_ready="boot success",
        )

    def _start_broker(self) -> None:
        # A broker takes its port, one for replication, and the one two below its own for clients in a hurry.
        port = free_port_group(4) + 2
        self._broker_address = f"127.0.0.1:{port}"
        self._launch(
            "broker",
            "escrowmq.interop.Broker",
            {
                **self._options,
                "namesrvAddr": self._name_server_address,
                "listenPort": str(port),
                "haListenPort": str(port + 1),
                "storePathRootDir": str(self._store),
                "storePathCommitLog": str(self._store / "commitlog"),
            },
            heap="256m",
            says_when_ready="registered",
        )

    def _launch(self, name: str, main: str, options: Mapping[str, str], *, heap: str, says_when_ready: str) -> None:
        """Starts a server and returns when clients can use it."""
        configuration = self._home / f"{name}.properties"
        configuration.write_text("".join(f"{key}={value}\n" for key, value in options.items()))
        command = self._installation.command(main, ["-c", str(configuration)], heap=heap, home=self._home)
        self._servers.append(JavaProcess(name, command, home=self._home))
        self._servers[-1].await_output(says_when_ready)

    def _run_client(self, program: str, *arguments: str) -> list[Row]:
        return run_program(
            self._installation,
            program,
            [self._name_server_address, *arguments],
            home=self._home / "clients",
            deadline_s=CLIENT_DEADLINE_S,
        )

    def _abandon(self, error: BaseException | None) -> None:
        for server in reversed(self._servers):
            server.kill()
        if error is not None:
            error.add_note(log_tail(self._home))


_BROKER_DEFAULTS: Mapping[str, str] = {
    "brokerClusterName": CLUSTER_NAME,
    "brokerName": BROKER_NAME,
    "brokerId": "0",
    "brokerRole": "ASYNC_MASTER",
    "brokerIP1": "127.0.0.1",
    "brokerIP2": "127.0.0.1",
    "bindAddress": "127.0.0.1",
    # However full the disk of this machine is, the store under test is neither cleaned nor refused.
    "diskMaxUsedSpaceRatio": "95",
    "diskSpaceCleanForciblyRatio": "98",
    "diskSpaceWarningLevelRatio": "99",
    "cleanFileForciblyEnable": "false",
    # Recovery goes back this many files at most; the default of 10 is ten gigabytes only where files are large.
    "commitLogRecoverMaxNum": "1000",
    # Undecided half messages are left alone unless a test asks for check-back: a long interval is not enough, since a
    # stopping broker runs one more check, so the messages of the tests, whose birth is years ago, count as fresh.
    "transactionCheckInterval": "3600000",
    "transactionTimeOut": "1000000000000",
    "fileReservedTime": "87600",
    # Decisions are recorded at once.
    "transactionOpBatchInterval": "100",
}


def free_port_group(count: int) -> int:
    """The first of `count` consecutive ports that nobody uses, below the range from which systems number clients."""
    first_ports = range(15_000, 32_000 - count)
    for first in random.sample(first_ports, 100):
        if all(_is_free(port) for port in range(first, first + count)):
            return first
    raise ApacheError(f"no {count} consecutive free ports in {first_ports}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
