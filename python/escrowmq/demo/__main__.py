"""`make run`. It ends with 0 if nothing is lost; on a terminal the broker stays for you until Ctrl-C."""

import contextlib
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from escrowmq.demo.screen import Screen
from escrowmq.demo.story import Story
from escrowmq.demo.up_process import NotStarted, UpProcess

PAUSE_FOR_PEOPLE_S = 0.05


def main() -> int:
    """The demonstration; its exit status."""
    console = Console()
    is_looked_on = console.is_terminal
    pause_s = PAUSE_FOR_PEOPLE_S if is_looked_on else 0.0
    with tempfile.TemporaryDirectory(prefix="escrowmq-demo-") as folder:
        try:
            with Story(Path(folder), Screen(console), pause_s=pause_s, has_default_ports=is_looked_on) as story:
                is_whole = story.tell()
                console.print(
                    "Nothing acknowledged is lost." if is_whole else "This is a bug in EscrowMQ: please report it."
                )
                if is_looked_on:
                    leave_running(story.up, console)
        except NotStarted:
            return 1
        except KeyboardInterrupt:
            return 130
    return 0 if is_whole else 1


def leave_running(up: UpProcess, console: Console) -> None:
    """Waits until Ctrl-C, which the broker hears too."""
    console.print(
        f"\nIt runs on for you until Ctrl-C: point a RocketMQ client at {up.name_server}.\n"
        "What you send to it goes when it stops; `escrowmq up` keeps what it is sent.",
        highlight=False,
    )
    with contextlib.suppress(KeyboardInterrupt):
        up.wait()


if __name__ == "__main__":
    sys.exit(main())
