"""`escrowmq up` and `escrowmq broker` as processes of their own, and a client that speaks raw frames to them."""

import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.leash import die_with_parent
from tests.unit.server.peer import PATIENCE_S, Peer

from escrowmq import Frame

# A test must not fail because its machine's disk is nearly full.
SMALL_STORE = (
    "--set=store.segment_size_bytes=8388608",
    "--set=store.disk_clean_ratio=1.0",
    "--set=store.disk_force_ratio=1.0",
    "--set=store.disk_refuse_ratio=1.0",
)


class ServerProcess:
    """Started and listening when its `with` block begins, gone when it ends."""

    def __init__(self, command: str, data: Path, *options: str) -> None:
        data.parent.mkdir(parents=True, exist_ok=True)
        arguments = [sys.executable, "-m", "escrowmq", command, f"--data={data}", "--log-level=info", *SMALL_STORE]
        self._log_path = data.with_name(f"{data.name}.log")
        with self._log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*arguments, *options], stdout=subprocess.PIPE, stderr=log, preexec_fn=die_with_parent
            )
        self.said = self._read_until("Ctrl-C" if command == "up" else "data in")
        self.ready_after_cpu_s = cpu_s(self.process.pid)

    @property
    def broker(self) -> str:
        """The broker's address."""
        return str(re.findall(r"^broker(?: \S+ at)? +(\S+:\d+)", self.said, flags=re.MULTILINE)[0])

    @property
    def name_server(self) -> str:
        """The name server's address."""
        return str(re.findall(r"^name server +(\S+:\d+)", self.said, flags=re.MULTILINE)[0])

    @property
    def log(self) -> str:
        return self._log_path.read_text(encoding="utf-8")

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        if error is not None:
            error.add_note(self.said + self.log)

    def _read_until(self, words: str) -> str:
        """What it printed up to some words, or to its end."""
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        said = b""
        while words.encode() not in said:
            ready, _, _ = select.select([descriptor], [], [], PATIENCE_S)
            printed = os.read(descriptor, 4_096) if ready else b""
            if not printed:
                break
            said += printed
        return said.decode()


def cpu_s(process_id: int) -> float:
    """Processor time that a process took so far, which does not depend on what else the machine does."""
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Client(Peer):
    """A client that asks one thing after the other, and keeps what it is told in between."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.told: list[Frame] = []
        self._opaque = 0

    def ask(self, code: int, fields: dict[str, str] | None = None, body: bytes = b"") -> Frame:
        """The answer to a request."""
        self._opaque += 1
        self.send(Frame(code, language="JAVA", version=513, opaque=self._opaque, ext_fields=fields, body=body or None))
        while frames := self.receive():
            answers = [frame for frame in frames if frame.is_response and frame.opaque == self._opaque]
            self.told += [frame for frame in frames if not frame.is_response]
            if answers:
                return answers[0]
        raise ConnectionResetError("the server closed the connection")

    def await_told(self) -> Frame:
        """What it is told next, or was told and not yet looked at."""
        if not self.told:
            self.told += self.receive()
        return self.told.pop(0)
