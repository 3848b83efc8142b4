"""Apache RocketMQ from Maven Central and our Java programs, fetched and compiled once into a cache folder."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = ("java", "javac", "mvn")
SETUP_DEADLINE_S = 900

# Apache unmaps files and frees direct buffers through JDK internals that Java 17 closes by default.
OPENED_INTERNALS = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)
# These processes live for seconds on a shared machine: start fast, stay small.
SHORT_LIVED = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


class InstallationError(Exception):
    """A jar could not be fetched, or our programs do not compile."""


@dataclass(frozen=True)
class Installation:
    """Apache's jars and our compiled programs."""

    jars: Path
    classes: Path

    def command(
        self, main: str, arguments: Sequence[str], *, heap: str, home: Path, definitions: Sequence[str] = ()
    ) -> list[str]:
        """The command line of a Java program that keeps whatever it logs under `home`."""
        return [
            "java",
            f"-Xmx{heap}",
            *SHORT_LIVED,
            *OPENED_INTERNALS,
            f"-Duser.home={home}",
            f"-Drmq.logback.configurationFile={HERE / 'logback.xml'}",
            f"-Dinterop.log={home / main.rpartition('.')[2]}.log",
            *(f"-D{definition}" for definition in definitions),
            "-cp",
            f"{self.classes}:{self.jars}/*",
            main,
            *arguments,
        ]


def missing_tools() -> list[str]:
    """The tools that `install` needs and this machine lacks."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def install() -> Installation:
    """Fetches the jars of pom.xml and compiles java/ into the cache folder, unless both are there already.

    The cache is ESCROWMQ_INTEROP_CACHE, by default `escrowmq-interop` in the user's cache folder. What is cached is
    named by the digest of what it was made from, and appears under that name only when it is complete.
    """
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    pom = HERE / "pom.xml"
    sources = sorted((HERE / "java").rglob("*.java"))
    jars = cache / f"jars-{digest_of([pom])}"
    classes = cache / f"classes-{digest_of([pom, *sources])}"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not jars.is_dir():
            with published_as(jars) as made:
                run_tool(
                    "mvn", "--batch-mode", "--quiet", f"--file={pom}", "dependency:copy-dependencies",
                    "-DincludeScope=runtime", f"-DoutputDirectory={made}",
                )  # fmt: skip
        if not classes.is_dir():
            with published_as(classes) as made:
                run_tool(
                    "javac", "-nowarn", "-encoding", "UTF-8", "-d", str(made), "-cp", f"{jars}/*", *map(str, sources)
                )
    return Installation(jars=jars, classes=classes)


def cache_folder() -> Path:
    """Where whatever is fetched or compiled stays."""
    chosen = os.environ.get("ESCROWMQ_INTEROP_CACHE")
    if chosen:
        return Path(chosen).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "escrowmq-interop"


def digest_of(paths: Sequence[Path]) -> str:
    """A name for what is made from these files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def published_as(target: Path) -> Iterator[Path]:
    """A folder to fill, renamed to `target` if filling it succeeds."""
    with tempfile.TemporaryDirectory(prefix="partial-", dir=target.parent) as folder:
        made = Path(folder) / target.name
        made.mkdir()
        yield made
        made.rename(target)


def run_tool(*command: str) -> None:
    """Runs it to its end.

    Raises:
        InstallationError: It fails.
    """
    try:
        subprocess.run(
            command, check=True, timeout=SETUP_DEADLINE_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except subprocess.CalledProcessError as error:
        raise InstallationError(f"{command[0]} exited with {error.returncode}:\n{error.stdout}") from error
