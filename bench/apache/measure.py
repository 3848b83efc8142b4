"""What is measured of a broker while Apache's benchmark programs are at work on it.

Throughput and processor time are of the same seconds, after the program has warmed up: what a JVM does in its first
seconds is the same for both brokers, and neither's.
"""

import os
import re
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.apache.java import Java
from bench.processes import BenchError, Served, cpu_s, load, status_number

BENCHMARK_TOPIC: Final = ("--topic=BenchmarkTest", "--queues=1024")
WARM_UP_S: Final = 6
MEASURED_S: Final = 10
IDLE_SETTLE_S: Final = 5
IDLE_S: Final = 15

CONSUMED_TOPIC: Final = "ConsumeTest"
BACKLOG: Final = 3_000_000
# The program tells every ten seconds what it did in the last nine of them.
TOLD_EVERY_S: Final = 10
TOLD_S: Final = 9
TELLS: Final = 2
TELL_DEADLINE_S: Final = 40


@dataclass(frozen=True)
class Work:
    """What a broker did, and what it and the program took for it."""

    messages: float
    seconds: float
    broker_cpu_s: float
    client_cpu_s: float

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds

    @property
    def broker_us(self) -> float:
        """Microseconds of the broker's processor time per message."""
        return self.broker_cpu_s * 1e6 / self.messages

    @property
    def broker_cores(self) -> float:
        return self.broker_cpu_s / self.seconds

    @property
    def client_cores(self) -> float:
        return self.client_cpu_s / self.seconds


@dataclass(frozen=True)
class Idle:
    """A broker that nobody talks to."""

    ready_s: float
    rss_mb: float
    threads: int
    core_percent: float


def produce(java: Java, broker: Served, name_server: str, main: str, *options: str) -> Work:
    """What one of the producing programs achieves."""
    with java.benchmark(main, "-n", name_server, *options) as (client, path):
        time.sleep(WARM_UP_S)
        before = _moment(broker, client.pid)
        time.sleep(MEASURED_S)
        after = _moment(broker, client.pid)
        if client.poll() is not None or after[1] == before[1]:
            raise BenchError(f"{main} sent nothing: {path.read_text(errors='replace')[-2000:]}")
    seconds, messages, broker_cpu, client_cpu = (end - begin for begin, end in zip(before, after, strict=True))
    return Work(messages, seconds, broker_cpu, client_cpu)


def _moment(broker: Served, client_pid: int) -> tuple[float, float, float, float]:
    """Time, messages, the broker's processor time and the program's."""
    messages = load("count", broker, *BENCHMARK_TOPIC)["messages"]
    return time.monotonic(), messages, cpu_s(broker.pid), cpu_s(client_pid)


def fill_backlog(broker: Served) -> None:
    """Stores the messages that consumers read, unless they are there."""
    topic = (f"--topic={CONSUMED_TOPIC}", "--queues=8")
    load("send", broker, *topic, "--count=8")
    stored = load("count", broker, *topic)["messages"]
    if stored < BACKLOG:
        load(
            "send",
            broker,
            *topic,
            f"--count={BACKLOG - stored}",
            "--batch=32",
            "--connections=2",
            "--burst=2",
            "--window=8",
        )


def consume(java: Java, broker: Served, name_server: str, group: str) -> Work:
    """What the consuming program achieves on a backlog."""
    arguments = ("-n", name_server, "-t", CONSUMED_TOPIC, "-p", "false", "-g", group)
    samples: deque[tuple[float, float, float]] = deque()
    with java.benchmark("Consumer", *arguments) as (client, path):
        deadline = time.monotonic() + TELL_DEADLINE_S
        while len(told := _told(path)) < TELLS:
            samples.append((time.monotonic(), cpu_s(broker.pid), cpu_s(client.pid)))
            if client.poll() is not None or samples[-1][0] > deadline:
                raise BenchError(f"Consumer told nothing: {path.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
    if sum(told) * TOLD_EVERY_S > BACKLOG * 0.95:
        raise BenchError(f"the backlog of {BACKLOG:,} messages is too small for {max(told):,} a second")
    end = samples[-1]
    begin = next(sample for sample in samples if sample[0] >= end[0] - TOLD_S)
    seconds = end[0] - begin[0]
    return Work(told[-1] * seconds, seconds, end[1] - begin[1], end[2] - begin[2])


def _told(path: Path) -> list[int]:
    return [
        int(rate)
        for rate in re.findall(r"^Current Time: .*?TPS: (\d+)", path.read_text(errors="replace"), re.MULTILINE)
    ]


def idle(broker: Served) -> Idle:
    """What a broker takes that has nothing to do."""
    time.sleep(IDLE_SETTLE_S)
    begin, before = time.monotonic(), cpu_s(broker.pid)
    time.sleep(IDLE_S)
    taken = (cpu_s(broker.pid) - before) / (time.monotonic() - begin)
    return Idle(
        ready_s=broker.ready_s,
        rss_mb=status_number(broker.pid, "VmRSS") * 1024 / 1e6,
        threads=status_number(broker.pid, "Threads"),
        core_percent=taken * 100,
    )


def sync_floor(folder: Path, group_bytes: int, group_messages: float, seconds: float = 4) -> float:
    """Messages a second that a loop of nothing but write and fdatasync makes durable, in groups of this size."""
    path = folder / "floor"
    piece = b"x" * group_bytes
    with path.open("wb", buffering=0) as file:
        descriptor = file.fileno()
        os.posix_fallocate(descriptor, 0, 1 << 30)
        os.fsync(descriptor)
        count, begin = 0, time.monotonic()
        while (passed := time.monotonic() - begin) < seconds:
            os.pwrite(descriptor, piece, count * group_bytes % (1 << 30))
            os.fdatasync(descriptor)
            count += 1
    path.unlink()
    return count * group_messages / passed
