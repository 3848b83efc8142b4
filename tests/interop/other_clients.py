"""RocketMQ's clients in other languages, with our programs around them: fetched and compiled once, run as processes."""

import contextlib
import fcntl
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.interop.installation import cache_folder, digest_of, published_as, run_tool
from tests.leash import die_with_parent

HERE = Path(__file__).resolve().parent
STOP_WAIT_S = 30


@dataclass(frozen=True)
class Language:
    """What it takes to run our program in a language."""

    name: str
    tools: tuple[str, ...]
    install: Callable[[Path], None]
    command: Callable[[Path], list[str]]
    # Whether a producer's first message makes its topic; else it has to be there.
    makes_topics: bool

    @property
    def missing_tools(self) -> list[str]:
        """Which tools this machine lacks."""
        return [tool for tool in self.tools if shutil.which(tool) is None]

    def installed(self) -> list[str]:
        """The command that runs our program, which is made unless it is there."""
        sources = sorted(path for path in (HERE / self.name).iterdir() if path.is_file())
        target = cache_folder() / f"{self.name}-{digest_of(sources)}"
        target.parent.mkdir(parents=True, exist_ok=True)
        with (target.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.is_dir():
                with published_as(target) as made:
                    self.install(made)
        return self.command(target)


def _install_go(folder: Path) -> None:
    run_tool("go", "build", "-C", str(HERE / "go"), "-o", str(folder / "client"), ".")


def _install_node(folder: Path) -> None:
    for source in (HERE / "node").iterdir():
        shutil.copy(source, folder)
    run_tool("npm", "ci", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund")


GO = Language("go", ("go",), _install_go, lambda folder: [str(folder / "client")], makes_topics=True)
NODE = Language(
    "node", ("node", "npm"), _install_node, lambda folder: ["node", str(folder / "client.js")], makes_topics=False
)


class ClientProcess:
    """A process of one of our programs."""

    def __init__(self, command: list[str], said: Path) -> None:
        self._said, self._complaints = said, said.with_suffix(".err")
        with said.open("wb") as out, self._complaints.open("wb") as err:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=out, stderr=err, text=True, preexec_fn=die_with_parent
            )

    def write(self, *lines: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.writelines(f"{line}\n" for line in lines)
        self._process.stdin.flush()

    def lines(self) -> list[list[str]]:
        """The words of the whole lines that it printed."""
        whole, _, _ = self._said.read_text(encoding="utf-8").rpartition("\n")
        return [line.split() for line in whole.splitlines()]

    def bodies(self) -> set[str]:
        """What a consumer has read."""
        return {body for _, body in self.lines()}

    def stop(self) -> None:
        """In order: a consumer commits its offsets and leaves its group."""
        self._close_input()
        assert self._process.wait(STOP_WAIT_S) == 0

    def kill(self) -> None:
        """Leaves nothing behind but what it complained about, which is shown if its test fails."""
        self._process.kill()
        self._process.wait()
        self._close_input()
        print(self._complaints.read_text(encoding="utf-8"))

    def _close_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
