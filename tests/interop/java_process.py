"""Java processes in a folder of their own: servers, programs that tell rows, and what they complained about."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.interop.installation import Installation
from tests.leash import die_with_parent

POLL_INTERVAL_S = 0.05
BOOT_DEADLINE_S = 90
STOP_DEADLINE_S = 60
LOG_TAIL_LINES = 25
IDLE_TALK = (" INFO ", "|-INFO", "|-WARN", "[WATERMARK]", "No resource file with name", "Load default")


Row: TypeAlias = dict[str, Any]
"""One JSON object that a Java program printed; `java/escrowmq/interop/Rows.java` writes them."""


class ApacheError(Exception):
    """A server or one of our Java programs did not do what was asked of it."""


class JavaProcess:
    """One Java process in a process group of its own, whose output goes to a file."""

    def __init__(self, name: str, command: Sequence[str], *, home: Path) -> None:
        self.name = name
        self.output_path = home / f"{name}.out"
        with self.output_path.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "ROCKETMQ_HOME": str(home)},
                cwd=home,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def output(self) -> str:
        return self.output_path.read_text(errors="replace")

    def await_output(self, text: str) -> None:
        """Returns once the process has printed the text."""
        deadline = time.monotonic() + BOOT_DEADLINE_S
        while text not in self.output:
            if not self.is_running:
                raise ApacheError(f"{self.name} exited with {self._process.returncode} before it said {text!r}")
            if time.monotonic() > deadline:
                raise ApacheError(f"{self.name} did not say {text!r} within {BOOT_DEADLINE_S} s")
            time.sleep(POLL_INTERVAL_S)

    def await_end(self, deadline_s: float) -> int:
        """The exit code. A program that takes too long is killed, and so is one that nobody waits for any more."""
        try:
            return self._process.wait(deadline_s)
        except subprocess.TimeoutExpired as error:
            raise ApacheError(f"{self.name} did not end within {deadline_s} s") from error
        finally:
            self.kill()

    def stop(self) -> None:
        """An orderly end: SIGTERM, which both servers answer by flushing and closing."""
        self._process.terminate()
        try:
            self._process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired as error:
            raise ApacheError(f"{self.name} did not stop within {STOP_DEADLINE_S} s") from error

    def kill(self) -> None:
        """SIGKILL to the whole group; harmless when the process has ended."""
        if self.is_running:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def run_program(
    installation: Installation,
    program: str,
    arguments: Sequence[str],
    *,
    home: Path,
    deadline_s: float,
    heap: str = "128m",
    definitions: Sequence[str] = (),
) -> list[Row]:
    """What one of the programs in `java/` tells; it keeps whatever it logs under `home`."""
    home.mkdir(parents=True, exist_ok=True)
    rows_path = home / f"{program}.rows"
    command = installation.command(
        f"escrowmq.interop.{program}",
        arguments,
        heap=heap,
        home=home,
        definitions=[f"interop.rows={rows_path}", *definitions],
    )
    code = JavaProcess(program, command, home=home).await_end(deadline_s)
    if code != 0:
        raise ApacheError(f"{program} {' '.join(arguments)} exited with {code}")
    return read_rows(rows_path)


@dataclass(frozen=True)
class StayingProgram:
    """One of the programs in `java/` at work."""

    process: JavaProcess
    rows_path: Path

    def rows(self) -> list[Row]:
        """What it has told so far."""
        return read_rows(self.rows_path)


@contextlib.contextmanager
def staying_program(
    installation: Installation, program: str, arguments: Sequence[str], *, home: Path, says_when_ready: str
) -> Iterator[StayingProgram]:
    """One of the programs in `java/` that stays until the block ends, from when it is ready."""
    home.mkdir(parents=True, exist_ok=True)
    rows_path = home / f"{program}.rows"
    command = installation.command(
        f"escrowmq.interop.{program}", arguments, heap="128m", home=home, definitions=[f"interop.rows={rows_path}"]
    )
    process = JavaProcess(program, command, home=home)
    try:
        process.await_output(says_when_ready)
        yield StayingProgram(process, rows_path)
    except BaseException as error:
        error.add_note(log_tail(home))
        raise
    finally:
        process.kill()


def read_rows(path: Path) -> list[Row]:
    """What a program has told so far."""
    with path.open(encoding="utf-8") as rows:
        # The last one may be on its way.
        return [json.loads(row) for row in rows if row.endswith("\n")]


def log_tail(home: Path) -> str:
    """The end of what processes with this home said, without what they say when all is well."""
    paths = sorted([*home.rglob("*.out"), *home.rglob("*.log")])
    tails = [(path.relative_to(home), _tail(_complaints(path))) for path in paths]
    return "\n".join(f"==> {path}\n{tail}" for path, tail in tails if tail)


def _complaints(path: Path) -> str:
    lines = path.read_text(errors="replace").splitlines()
    return "\n".join(line for line in lines if line.strip() and not any(word in line for word in IDLE_TALK))


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-LOG_TAIL_LINES:])
