"""The story in a terminal; it ends with 0 if every order and its message agree."""

import sys
import tempfile
from pathlib import Path

from rich.console import Console

from escrowmq.demo.up_process import NotStarted
from examples.orders.story import Story


def main() -> int:
    """Tells it; its exit status."""
    console = Console()

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    with tempfile.TemporaryDirectory(prefix="escrowmq-orders-") as folder:
        try:
            with Story(Path(folder), say) as story:
                books = story.tell()
        except NotStarted:
            return 1
        except KeyboardInterrupt:
            return 130
    unheard = len(books.placed - books.acknowledged)
    say(f"  asked for {len(books.asked)}, acknowledged {len(books.acknowledged)}")
    say(
        f"  {len(books.placed)} are in the orders' database, {unheard} of which no customer heard of, "
        f"and {len(books.billed)} are billed"
    )
    if books.agree():
        say("[bold green]Every order and its message agree.[/]")
        return 0
    say(
        f"[bold red]They differ[/]: {sorted(books.placed ^ books.billed)}. This is a bug in EscrowMQ: please report it."
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
