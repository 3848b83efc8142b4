"""What a person sees of the demonstration: lines for what happens, below them the queues as they fill."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from escrowmq.demo.tally import QUEUES, Tally
from escrowmq.demo.up_process import UpProcess

BAR_WIDTH = 24
# A bar is full when its queue holds so many messages, which no queue quite reaches.
BAR_TOTAL = 500


class Screen:
    """On a terminal the queues are redrawn as they fill; elsewhere they are printed once, at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    def say(self, text: str) -> None:
        """A line, above the queues."""
        self._console.print(text, highlight=False, soft_wrap=True)

    def started(self, up: UpProcess, word: str) -> None:
        """A broker listens."""
        self.say(f"[bold green]escrowmq up[/] is {word} after [bold]{up.ready_after_s:.2f} s[/]")

    def listens(self, up: UpProcess, data: Path) -> None:
        """Where it is."""
        self.say(f"  name server  {up.name_server}\n  broker       {up.broker}\n  data         {data}")

    def took(self, up: UpProcess, tally: Tally) -> None:
        """Messages went through it."""
        self.say(f"  {len(tally.acknowledged):,} messages sent and read; it takes [bold]{up.memory_mb():.0f} MB[/]")

    def killed(self, tally: Tally) -> None:
        """The broker was killed."""
        acknowledged = len(tally.acknowledged)
        self.say(
            f"[bold red]SIGKILL[/] in the middle of sends: {acknowledged:,} are acknowledged, "
            f"{tally.sent - acknowledged:,} are on their way"
        )

    def compared(self, tally: Tally) -> None:
        """The end: what was acknowledged is held against what was read."""
        table = Table(box=None, show_header=False)
        table.add_column(justify="right")
        table.add_column()
        unasked = sum(map(len, tally.read.values())) - len(tally.acknowledged) + tally.lost()
        for count, words in [
            (len(tally.acknowledged), "acknowledged"),
            (tally.lost(), "of them lost"),
            (tally.misplaced(), "twice or out of order"),
            (tally.changed, "changed"),
            (unasked, "were on their way, and were stored though nobody was told"),
        ]:
            table.add_row(f"{count:,}", words)
        self._console.print(table)

    @contextlib.contextmanager
    def showing(self, tally: Tally) -> Iterator[None]:
        """Shows the queues until the block ends."""
        if self._console.is_terminal:
            with Live(
                console=self._console, auto_refresh=False, get_renderable=lambda: queue_table(tally)
            ) as self._live:
                yield
        else:
            yield
            self._console.print(queue_table(tally))

    def refresh(self) -> None:
        """Draws the queues again, if somebody looks on."""
        if self._live is not None:
            self._live.refresh()


def queue_table(tally: Tally) -> Table:
    """The queues, with how much of each was acknowledged and read."""
    table = Table(box=None)
    table.add_column("queue")
    table.add_column("")
    for title in ("acknowledged", "read"):
        table.add_column(title, justify="right")
    table.add_column("newest")
    sent = dict.fromkeys(QUEUES, 0)
    for number in tally.acknowledged:
        sent[QUEUES[number % len(QUEUES)]] += 1
    for queue, numbers in tally.read.items():
        newest = f"{queue[0]} {numbers[-1]}" if numbers else ""
        bar = ProgressBar(total=BAR_TOTAL, completed=len(numbers), width=BAR_WIDTH)
        table.add_row(f"{queue[0]}/{queue[1]}", bar, f"{sent[queue]:,}", f"{len(numbers):,}", newest)
    return table
