"""What becomes of clients when their process forks, or ends."""

import atexit
import os
from collections.abc import Callable
from typing import Final, Protocol
from weakref import WeakSet


class Living(Protocol):
    """Something with threads and connections."""

    def close(self) -> None:
        """Ends them."""

    def forget_parent(self) -> None:
        """Lets go of them, in a process that was forked off: they are the parent's."""


_all: Final[WeakSet[Living]] = WeakSet()
_forgetting: Final[list[Callable[[], None]]] = []


def watch(living: Living) -> None:
    """Has it told."""
    _all.add(living)


def when_forked(forget: Callable[[], None]) -> None:
    """Has a module told, in every process that is forked off."""
    _forgetting.append(forget)


def _after_fork() -> None:
    for forget in _forgetting:
        forget()
    for living in list(_all):
        living.forget_parent()


def _at_exit() -> None:
    for living in list(_all):
        living.close()


os.register_at_fork(after_in_child=_after_fork)
# Before Python ends its daemon threads: one that is in native code then could take the process down.
atexit.register(_at_exit)
