"""How many messages of 1 KiB a second one Python process consumes from our broker, which runs beside it.

    python -m bench.client_consume [--messages N] [--rounds N]

The messages are there before: N of them in four queues. Each case reads all of them as a group of its own, several
times in turn; each message's body is taken. The clock runs from the first message that a handler gets to the last.
"""

import argparse
import asyncio
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bench.processes import ROOT, bar, cpu_s, machine, our_broker, our_name_server

from escrowmq import Message, Store
from escrowmq.admin import requests
from escrowmq.admin.client import Admin
from escrowmq.client import PullConsumer, PullOptions, PushConsumer, PushOptions, ReceivedMessage, aio
from escrowmq.model.topic import TopicConfig

BATCHED_MIN: Final = 100_000
TOPIC: Final = "bench"
QUEUES: Final = 4
BODY: Final = b"x" * 1024
DEADLINE_S: Final = 100


class Meter:
    """Counts messages, and stops the time."""

    def __init__(self, goal: int) -> None:
        self.goal = goal
        self.count = 0
        self.size_bytes = 0
        self.begin_s = 0.0
        self.end_s = 0.0
        self.is_over = threading.Event()
        self._lock = threading.Lock()

    def batch(self, messages: Sequence[ReceivedMessage]) -> None:
        size_bytes = sum([len(message.body) for message in messages])
        with self._lock:
            self.begin_s = self.begin_s or time.perf_counter()
            self.count += len(messages)
            self.size_bytes += size_bytes
            if self.count >= self.goal:
                self.end_s = time.perf_counter()
                self.is_over.set()

    def one(self, message: ReceivedMessage) -> None:
        self.batch((message,))


def push_batches(name_server: str, group: str, meter: Meter) -> None:
    options = PushOptions(start="earliest", handlers_max=4, batch_max=32)
    consumer = PushConsumer(name_server, group, on_batch=meter.batch, options=options)
    consumer.subscribe(TOPIC)
    with consumer:
        assert meter.is_over.wait(DEADLINE_S), meter.count


def push_messages(name_server: str, group: str, meter: Meter) -> None:
    options = PushOptions(start="earliest", handlers_max=4)
    consumer = PushConsumer(name_server, group, on_message=meter.one, options=options)
    consumer.subscribe(TOPIC)
    with consumer:
        assert meter.is_over.wait(DEADLINE_S), meter.count


def push_async(name_server: str, group: str, meter: Meter) -> None:
    async def handle(messages: Sequence[ReceivedMessage]) -> None:
        meter.batch(messages)

    async def main() -> None:
        options = PushOptions(start="earliest", handlers_max=4, batch_max=32)
        consumer = aio.PushConsumer(name_server, group, on_batch=handle, options=options)
        consumer.subscribe(TOPIC)
        async with consumer:
            while not meter.is_over.is_set():
                await asyncio.sleep(0.005)

    asyncio.run(main())


def pull(name_server: str, group: str, meter: Meter) -> None:
    consumer = PullConsumer(name_server, group, options=PullOptions(start="earliest"))
    consumer.subscribe(TOPIC)
    with consumer:
        while not meter.is_over.is_set():
            meter.batch(consumer.poll(count_max=256))


CASES: Final[dict[str, Callable[[str, str, Meter], None]]] = {
    "PushConsumer, on_batch": push_batches,
    "aio.PushConsumer, on_batch": push_async,
    "PullConsumer, poll": pull,
    "PushConsumer, on_message": push_messages,
}


def fill(data: Path, count: int) -> None:
    with Store.open(data, flush="async", disk_refuse_ratio=1.0, disk_force_ratio=1.0, disk_clean_ratio=1.0) as store:
        for begin in range(0, count, 1_000):
            receipts = store.append([_message(number) for number in range(begin, min(begin + 1_000, count))])
        store.wait_visible(receipts.end_offset, timeout_s=60)


def _message(number: int) -> Message:
    return Message(TOPIC, BODY, queue_id=number % QUEUES, properties={"UNIQ_KEY": f"{number:032X}", "WAIT": "true"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=600_000, help="how many there are")
    parser.add_argument("--rounds", type=int, default=3, help="how often each case is measured")
    arguments = parser.parse_args()
    print(f"{machine()}. {arguments.messages:,} messages of 1 KiB in {QUEUES} queues.\n", flush=True)
    rates: dict[str, list[float]] = {name: [] for name in CASES}
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory(prefix="escrowmq-consume-", dir=ROOT / "target") as folder:
        data = Path(folder) / "data"
        fill(data, arguments.messages)
        with (
            our_name_server(Path(folder) / "names") as name_server,
            our_broker(data, "--set=store.flush=async", f"--set=namesrvAddr={name_server}") as broker,
        ):
            with Admin([name_server]) as admin:
                admin.ask(broker.address, requests.create_topic(TopicConfig(TOPIC, QUEUES, QUEUES)))
            for round_number in range(arguments.rounds):
                for number, (name, run) in enumerate(CASES.items()):
                    meter = Meter(arguments.messages)
                    own_s, broker_s = _own_cpu_s(), cpu_s(broker.pid)
                    run(name_server, f"group-{round_number}-{number}", meter)
                    rates[name].append(meter.count / (meter.end_s - meter.begin_s))
                    spent = (_own_cpu_s() - own_s, cpu_s(broker.pid) - broker_s)
                    costs[name].append((spent[0] / meter.count * 1e6, spent[1] / meter.count * 1e6))
                    print(f"{name}: {rates[name][-1]:,.0f}/s", flush=True)
    print("\n| case | median a second | least | client CPU, µs a message | broker CPU |\n|---|---|---|---|---|")
    for name in CASES:
        own = statistics.median(cost[0] for cost in costs[name])
        theirs = statistics.median(cost[1] for cost in costs[name])
        rate = statistics.median(rates[name])
        print(f"| {name} | {rate:,.0f} | {min(rates[name]):,.0f} | {own:.1f} | {theirs:.1f} |")
    batched = statistics.median(rates["PushConsumer, on_batch"])
    print("\n| what | measured | bar | |\n|---|---|---|---|")
    print(bar("messages consumed in batches", batched, "/s", BATCHED_MIN, is_ceiling=False))


def _own_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
