"""`escrowmq namesrv` as a process of its own, and a client that speaks raw frames to it."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from tests.leash import die_with_parent

from escrowmq import Frame, decode_frames, encode_frames

DEADLINE_S = 30.0
ONE_WAY = 2


class NameServerProcess:
    """Started and listening when its `with` block begins, gone when it ends."""

    def __init__(self, data: Path, *options: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "escrowmq", "namesrv", f"--port={port}", f"--data={data}", *options]
        self._log_path = data.with_suffix(".log")
        with self._log_path.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=die_with_parent
            )
        self.first_line = self._read_first_line()
        found = re.match(r"name server at (\S+), data in", self.first_line)
        self.address = found[1] if found else ""

    @property
    def host_and_port(self) -> tuple[str, int]:
        host, _, port = self.address.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def log(self) -> str:
        return self._log_path.read_text(encoding="utf-8")

    def cpu_s(self) -> float:
        """Processor time that it took so far, which does not depend on what else the machine does."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1_024

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        if not self.address:
            self.kill()
            raise AssertionError(f"the name server did not start: {self.log}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()
        if error is not None:
            error.add_note(self.log)

    def _read_first_line(self) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE_S)
        return self.process.stdout.readline() if ready else ""


class RawClient:
    """One connection."""

    def __init__(self, server: tuple[str, int]) -> None:
        self._socket = socket.create_connection(server, timeout=DEADLINE_S)
        self._received = b""
        self._opaque = 0

    def ask(
        self,
        code: int,
        fields: dict[str, str] | None = None,
        body: bytes = b"",
        *,
        version: int = 513,
        header_kind: Literal["json", "binary"] = "json",
    ) -> Frame:
        self.send(code, fields, body, version=version, header_kind=header_kind)
        answer = self.receive()
        assert answer.is_response
        assert answer.opaque == self._opaque
        return answer

    def send(
        self,
        code: int,
        fields: dict[str, str] | None = None,
        body: bytes = b"",
        *,
        version: int = 513,
        header_kind: Literal["json", "binary"] = "json",
        flag: int = 0,
    ) -> None:
        self._opaque += 1
        frame = Frame(
            code,
            language="JAVA",
            version=version,
            opaque=self._opaque,
            flag=flag,
            ext_fields=fields or {},
            body=body or None,
            header_kind=header_kind,
        )
        self.send_bytes(encode_frames([frame]))

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> Frame:
        while True:
            frames, consumed = decode_frames(self._received)
            if frames:
                assert len(frames) == 1
                self._received = self._received[consumed:]
                return frames[0]
            received = self._socket.recv(65_536)
            if not received:
                raise EOFError
            self._received += received

    def is_closed_by_peer(self) -> bool:
        try:
            return self._socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def await_value(read: Callable[[], object], expected: object) -> None:
    """Returns when `read()` gives what is expected."""
    deadline = time.monotonic() + DEADLINE_S
    while (found := read()) != expected:
        assert time.monotonic() < deadline, f"{found} is not {expected} after {DEADLINE_S} s"
        time.sleep(0.01)
