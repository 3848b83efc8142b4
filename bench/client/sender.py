"""Sends messages of 1 KiB until it is killed: `python -m bench.client.sender NAME_SERVER threads|tasks COUNT`."""

import asyncio
import sys
import threading

from escrowmq import Message
from escrowmq.client import Producer, aio

TOPIC = "BenchmarkTest"
BODY = b"x" * 1_024
GROUP = "bench"


def by_threads(name_server: str, count: int) -> None:
    """As many threads as wanted, each with one message in flight."""
    with Producer(name_server, group=GROUP) as producer:

        def work() -> None:
            while True:
                producer.send(Message(TOPIC, BODY))

        threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


async def by_tasks(name_server: str, count: int) -> None:
    """As many tasks as wanted, each with one message in flight."""
    async with aio.Producer(name_server, group=GROUP) as producer:

        async def work() -> None:
            while True:
                await producer.send(Message(TOPIC, BODY))

        await asyncio.gather(*(work() for _ in range(count)))


if __name__ == "__main__":
    _, where, kind, number = sys.argv
    if kind == "threads":
        by_threads(where, int(number))
    else:
        asyncio.run(by_tasks(where, int(number)))
