"""Apache's broker and benchmark programs as processes, with the settings that Apache's own scripts give them."""

import os
import random
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.processes import BenchError, Served, await_output, stop
from tests.interop.installation import OPENED_INTERNALS, Installation

HEAP: Final = "1g"
BENCHMARKS: Final = "org.apache.rocketmq.example.benchmark"

PROPERTIES: Final = {
    "brokerClusterName": "DefaultCluster",
    "brokerName": "broker-a",
    "brokerId": "0",
    "brokerRole": "ASYNC_MASTER",
    "brokerIP1": "127.0.0.1",
    "diskMaxUsedSpaceRatio": "95",
    "diskSpaceCleanForciblyRatio": "98",
    "diskSpaceWarningLevelRatio": "99",
    "cleanFileForciblyEnable": "false",
}


@dataclass(frozen=True)
class Java:
    """Starts Java programs that write below one folder."""

    installation: Installation
    home: Path

    def start(self, name: str, main: str, arguments: Sequence[str]) -> tuple[subprocess.Popen[bytes], Path]:
        """A program, and the file that it prints to."""
        command = [
            "java", f"-Xms{HEAP}", f"-Xmx{HEAP}", *OPENED_INTERNALS, f"-Duser.home={self.home}",
            "-cp", f"{self.installation.classes}:{self.installation.jars}/*", main, *arguments,
        ]  # fmt: skip
        path = self.home / f"{name}.out"
        with path.open("wb") as output:
            environment = {**os.environ, "ROCKETMQ_HOME": str(self.home)}
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        return process, path

    @contextmanager
    def broker(self, data: Path, *, flush: str, name_server: str) -> Iterator[Served]:
        """Apache's broker."""
        port = free_ports(4) + 2
        properties = {
            **PROPERTIES,
            "flushDiskType": "SYNC_FLUSH" if flush == "sync" else "ASYNC_FLUSH",
            "listenPort": str(port),
            "haListenPort": str(port + 1),
            "namesrvAddr": name_server,
            "storePathRootDir": str(data),
            "storePathCommitLog": str(data / "commitlog"),
        }
        configuration = self.home / "broker.properties"
        configuration.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        begin = time.monotonic()
        process, path = self.start("broker", "org.apache.rocketmq.broker.BrokerStartup", ["-c", str(configuration)])
        try:
            await_output(process, path, "boot success")
            yield Served(process, f"127.0.0.1:{port}", time.monotonic() - begin, path)
        finally:
            stop(process)

    @contextmanager
    def benchmark(self, main: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """One of Apache's benchmark programs, killed at the end: they have none of their own."""
        process, path = self.start(main, f"{BENCHMARKS}.{main}", arguments)
        try:
            yield process, path
        finally:
            process.kill()
            process.wait()


def free_ports(count: int) -> int:
    """The first of some consecutive ports that nobody uses."""
    for first in random.sample(range(15_000, 31_000), 100):
        if all(_is_free(port) for port in range(first, first + count)):
            return first
    raise BenchError(f"no {count} consecutive free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
