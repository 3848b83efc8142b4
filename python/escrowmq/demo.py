"""Writes a store from a child process, kills it in mid-write, reopens the store and shows what survived.

    python -m escrowmq.demo

The child says how far it got each time `wait_visible` has returned: from then on a batch is acknowledged, and the
promise is that it survives whatever happens next.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from escrowmq import Message, QueueStatus, Record, Store

TOPICS = ("ledger", "orders", "payments")
QUEUES_PER_TOPIC = 2
BATCH = 16
BATCHES_BEFORE_THE_KILL = 40


def main(arguments: Sequence[str]) -> int:
    """Runs the demonstration, or the writer that it kills."""
    if arguments:
        write_until_killed(Path(arguments[0]))
    with tempfile.TemporaryDirectory(prefix="escrowmq-demo-") as folder:
        return demonstrate(Path(folder) / "store")


def demonstrate(folder: Path) -> int:
    """Kills a writer, reopens its store and shows what is there. Returns the exit status: 0 if nothing is lost."""
    print("A child process appends to a store, and acknowledges each batch once it is on disk and in its queue.")
    acknowledged = acknowledged_by_a_killed_writer(folder)
    print(f"SIGKILL: {acknowledged} messages are acknowledged, more were on their way.")

    began = time.perf_counter()
    store = open_store(folder)
    took_ms = (time.perf_counter() - began) * 1_000
    print(f"Reopened in {took_ms:.0f} ms; {store.recovery_report.records_checked} records were checked.")
    with store:
        is_whole = show_messages(store, acknowledged)
        show_queues(store)
    show_files(folder)
    print("Nothing acknowledged is lost." if is_whole else "This is a bug in EscrowMQ: please report it.")
    return 0 if is_whole else 1


def acknowledged_by_a_killed_writer(folder: Path) -> int:
    """Runs the writer, kills it, and returns how many messages it had acknowledged."""
    command = [sys.executable, "-m", "escrowmq.demo", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:  # noqa: S603
        assert writer.stdout is not None  # noqa: S101
        lines = [writer.stdout.readline() for _ in range(BATCHES_BEFORE_THE_KILL)]
        writer.kill()
        # What is still in the pipe was acknowledged too, but for a line that the kill cut short.
        lines += [line for line in writer.stdout if line.endswith("\n")]
    return int(lines[-1])


def write_until_killed(folder: Path) -> None:
    """Appends numbered messages in batches, and says on standard output how many are acknowledged."""
    store = open_store(folder)
    count = 0
    while True:
        receipts = store.append([numbered_message(count + place) for place in range(BATCH)])
        store.wait_visible(receipts.end_offset, timeout_s=60)
        count += BATCH
        print(count, flush=True)


def open_store(folder: Path) -> Store:
    """A store with small files, so that a short run fills several."""
    return Store.open(
        folder,
        segment_size_bytes=256 * 1_024,
        queue_file_entries=1_000,
        index_slots=1_000,
        index_entries=4_000,
        disk_clean_ratio=1.0,
        disk_force_ratio=1.0,
        disk_refuse_ratio=1.0,
    )


def numbered_message(number: int) -> Message:
    """Message `number`: topic, queue, key and body follow from it, so that nothing can be mistaken for another."""
    return Message(
        TOPICS[number % len(TOPICS)],
        body_of(number),
        queue_id=number // len(TOPICS) % QUEUES_PER_TOPIC,
        tags="demo",
        keys=f"key-{number}",
    )


def body_of(number: int) -> bytes:
    """The body of message `number`."""
    return f"message {number}; ".encode() * 50


def is_as_sent(record: Record, number: int) -> bool:
    """Whether a record is message `number`, unchanged."""
    sent = numbered_message(number)
    return (record.topic, record.queue_id, bytes(record.body)) == (sent.topic, sent.queue_id, sent.body)


def show_messages(store: Store, acknowledged: int) -> bool:
    """Compares what is there with what was acknowledged and sent. Returns whether nothing is lost or changed."""
    found = {
        int(record.properties["KEYS"].removeprefix("key-")): record
        for queue in store.queues()
        for record in store.iterate(queue.topic, queue.queue_id)
    }
    lost = [number for number in range(acknowledged) if number not in found]
    changed = [number for number, record in found.items() if not is_as_sent(record, number)]
    print_table(
        ("messages", "count"),
        [("acknowledged", acknowledged), ("survived", len(found)), ("lost", len(lost)), ("changed", len(changed))],
    )
    return not lost and not changed


def show_queues(store: Store) -> None:
    """Prints each queue with its offsets and its last message."""

    def row(queue: QueueStatus) -> tuple[str, int, int, str]:
        (last,) = store.read(queue.topic, queue.queue_id, queue.max_offset - 1)
        return f"{queue.topic}/{queue.queue_id}", queue.min_offset, queue.max_offset, last.properties["KEYS"]

    queues = sorted(store.queues(), key=lambda queue: (queue.topic, queue.queue_id))
    print_table(("queue", "first", "next", "newest"), [row(queue) for queue in queues])


def show_files(folder: Path) -> None:
    """Prints the files of the store; all but those below `escrowmq` are Apache RocketMQ's."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    print_table(("file", "bytes"), [(str(path.relative_to(folder)), path.stat().st_size) for path in files])


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints rows under a head; the first column is aligned to the left, the others to the right."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = "─" * (sum(widths) + 2 * len(widths))
    print()
    for place, row in enumerate(cells):
        first, *others = (
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([" " + first, *others]))
        if place == 0:
            print(rule)
    print()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
