"""The process that is killed. Appends numbered messages and says on standard output how many are acknowledged.

    python -m tests.crash.writer FOLDER FIRST_NUMBER FLUSH

Everything about a message follows from its number, so a reader knows what each must look like. A line is written only
after `wait_visible` has returned, to a pipe: what is in it outlives the process.
"""

import random
import sys
from pathlib import Path

from tests.opening import open_small

from escrowmq import Message


def message(number: int) -> Message:
    """Message `number`."""
    chance = random.Random(number)
    return Message(
        f"topic-{chance.randrange(3)}",
        chance.randbytes(chance.choice([0, 10, 300, 2_000])),
        queue_id=chance.randrange(2),
        keys=f"key-{number}",
        properties={"number": str(number)},
        born_timestamp_ms=number,
    )


def write(folder: Path, first: int, flush: str) -> None:
    """Appends until killed."""
    print("opening", flush=True)
    store = open_small(folder, flush=flush, checkpoint_interval_ms=20)
    chance = random.Random(first)
    print("open", flush=True)
    while True:
        count = chance.choice([1, 2, 7, 40])
        receipts = store.append([message(first + place) for place in range(count)])
        store.wait_visible(receipts.end_offset, timeout_s=60)
        first += count
        print(first, flush=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
