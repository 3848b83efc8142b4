"""A cluster of one broker, Apache's or ours, with the same data and clients, and what mqadmin prints about it."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.compat.broker_process import ServerProcess
from tests.compat.name_server_process import NameServerProcess
from tests.interop.apache import BROKER_NAME, Apache
from tests.interop.installation import Installation
from tests.interop.java_process import Row, run_program, staying_program
from tests.interop.mqadmin_facts import facts

TOPIC = "orders"
MESSAGES = 12
QUEUES = 2

COMMANDS_DEADLINE_S = 400

# Where mqadmin puts bodies of messages that it has found, and nothing can tell it otherwise.
BODIES = Path("/tmp/rocketmq/msgbodys")  # noqa: S108 - as the comment says


@dataclass(frozen=True)
class World:
    """A name server and a broker, what was sent to it, and who consumes."""

    installation: Installation
    home: Path
    name_server: str
    broker: str
    sent: Sequence[Row] = ()
    client: str = ""

    def run(self, commands: Sequence[str]) -> list[list[str]]:
        """The facts that each command prints; `{broker}` and the like stand for what is this world's own."""
        script = self.home / "commands"
        script.write_text("\n".join(map(self._line, commands)))
        rows = run_program(self.installation, "Mqadmin", [str(script)], home=self.home, deadline_s=COMMANDS_DEADLINE_S)
        for sent in self.sent:
            for name in sent.values():
                (BODIES / name).unlink(missing_ok=True)
        return [facts(row["printed"], self._own()) for row in rows]

    def _line(self, command: str) -> str:
        first: Row = self.sent[0] if self.sent else {}
        own = {"id": first.get("offsetMsgId"), "unique": first.get("msgId")}
        name, *words = (word.format(broker=self.broker, client=self.client, **own) for word in command.split(" "))
        return "\t".join([name, "-n", self.name_server, *words])

    def _own(self) -> list[tuple[str, str]]:
        """Texts of this world, and what they are."""
        return [
            (row[key], f"{name}-{number}")
            for number, row in enumerate(self.sent)
            for key, name in (("offsetMsgId", "PLACE"), ("msgId", "UNIQUE"))
        ]


@contextlib.contextmanager
def apaches(installation: Installation, folder: Path) -> Iterator[World]:
    """Apache's name server and broker."""
    with (
        Apache(installation, folder / "store", scratch=folder) as apache,
        _with_clients(World(installation, folder / "home", apache.name_server_address, apache.broker_address)) as world,
    ):
        yield world


@contextlib.contextmanager
def ours(installation: Installation, folder: Path) -> Iterator[World]:
    """Our name server and broker."""
    with NameServerProcess(folder / "namesrv") as name_server:
        options = (f"--name={BROKER_NAME}", "--port=0", f"--namesrv={name_server.address}")
        with (
            ServerProcess("broker", folder / "store", *options) as broker,
            _with_clients(World(installation, folder / "home", name_server.address, broker.broker)) as world,
        ):
            yield world


@contextlib.contextmanager
def _with_clients(empty: World) -> Iterator[World]:
    """A topic with messages, all of them consumed; the producer and the consumer are still there."""
    empty.home.mkdir()
    empty.run([f"updateTopic -b {{broker}} -t {TOPIC} -r {QUEUES} -w {QUEUES}"])
    arguments = [empty.name_server, BROKER_NAME, TOPIC, str(MESSAGES)]
    with staying_program(empty.installation, "Live", arguments, home=empty.home, says_when_ready="consumed") as live:
        *sent, last = live.rows()
        yield World(empty.installation, empty.home, empty.name_server, empty.broker, sent, last["client"])
