"""What is measured of a broker while Apache's benchmark programs are at work on it.

Throughput and processor time are of the same seconds, after the program has warmed up: what a JVM does in its first
seconds is the same for both brokers, and neither's.
"""

import os
import re
import time
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import Final, Self

from bench.apache.java import Java
from bench.processes import BenchError, Served, cpu_s, load, machine_cpu_s, status_number

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
POLL_INTERVAL_S: Final = 0.05


@dataclass(frozen=True)
class Moment:
    """A time, and the processor time that the broker, the program and everything together have taken by then."""

    at_s: float
    broker_cpu_s: float
    client_cpu_s: float
    machine_cpu_s: float

    @classmethod
    def now(cls, broker: Served, client_pid: int) -> Self:
        return cls(time.monotonic(), cpu_s(broker.pid), cpu_s(client_pid), machine_cpu_s())


@dataclass(frozen=True)
class Work:
    """What a broker did between two moments."""

    messages: float
    begin: Moment
    end: Moment

    @property
    def seconds(self) -> float:
        return self.end.at_s - self.begin.at_s

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds

    @property
    def broker_us(self) -> float:
        """Microseconds of the broker's processor time per message."""
        return (self.end.broker_cpu_s - self.begin.broker_cpu_s) * 1e6 / self.messages

    @property
    def client_us(self) -> float:
        """The same of the client."""
        return (self.end.client_cpu_s - self.begin.client_cpu_s) * 1e6 / self.messages

    @property
    def broker_cores(self) -> float:
        return (self.end.broker_cpu_s - self.begin.broker_cpu_s) / self.seconds

    @property
    def client_cores(self) -> float:
        return (self.end.client_cpu_s - self.begin.client_cpu_s) / self.seconds

    @property
    def other_cores(self) -> float:
        """What neither of them took: the kernel's threads, and whoever else was at work."""
        all_cores = (self.end.machine_cpu_s - self.begin.machine_cpu_s) / self.seconds
        return all_cores - self.broker_cores - self.client_cores


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
        before, begin = stored(broker), Moment.now(broker, client.pid)
        time.sleep(MEASURED_S)
        messages, end = stored(broker) - before, Moment.now(broker, client.pid)
        if client.poll() is not None or messages == 0:
            raise BenchError(f"{main} sent nothing: {path.read_text(errors='replace')[-2000:]}")
    return Work(messages, begin, end)


def stored(broker: Served) -> float:
    """How many messages the benchmark's topic has."""
    return float(load("count", broker, *BENCHMARK_TOPIC)["messages"])


def fill_backlog(broker: Served) -> None:
    """Stores the messages that consumers read, unless they are there."""
    topic = (f"--topic={CONSUMED_TOPIC}", "--queues=8")
    load("send", broker, *topic, "--count=8")
    missing = BACKLOG - load("count", broker, *topic)["messages"]
    if missing > 0:
        load("send", broker, *topic, f"--count={missing}", "--batch=32", "--connections=2", "--burst=2", "--window=8")


def consume(java: Java, broker: Served, name_server: str, group: str) -> Work:
    """What the consuming program achieves on a backlog."""
    arguments = ("-n", name_server, "-t", CONSUMED_TOPIC, "-p", "false", "-g", group)
    moments: list[Moment] = []
    with java.benchmark("Consumer", *arguments) as (client, path):
        deadline = time.monotonic() + TELL_DEADLINE_S
        while len(told := _told(path)) < TELLS:
            moments.append(Moment.now(broker, client.pid))
            if client.poll() is not None or moments[-1].at_s > deadline:
                raise BenchError(f"Consumer told nothing: {path.read_text(errors='replace')[-2000:]}")
            time.sleep(POLL_INTERVAL_S)
    if sum(told) * TOLD_EVERY_S > BACKLOG * 0.95:
        raise BenchError(f"the backlog of {BACKLOG:,} messages is too small for {max(told):,} a second")
    end = moments[-1]
    begin = next(moment for moment in moments if moment.at_s >= end.at_s - TOLD_S)
    return Work(told[-1] * (end.at_s - begin.at_s), begin, end)


def _told(path: Path) -> list[int]:
    """The rates that the program told, from the first that is one: it tells zeros until it has got its queues."""
    lines = re.findall(r"^Current Time: .*?TPS: (\d+)", path.read_text(errors="replace"), re.MULTILINE)
    return list(dropwhile(lambda rate: rate == 0, map(int, lines)))


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
