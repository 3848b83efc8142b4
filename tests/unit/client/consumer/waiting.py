"""Waiting for what a consumer does in its own time, with a deadline."""

import asyncio
import time
from collections.abc import Callable

DEADLINE_S = 15.0
PAUSE_S = 0.002


def wait_until(is_so: Callable[[], bool], *, deadline_s: float = DEADLINE_S) -> None:
    """Waits until something is so."""
    until_s = time.monotonic() + deadline_s
    while not is_so():
        if time.monotonic() >= until_s:
            raise TimeoutError(f"it is not so after {deadline_s} s")
        time.sleep(PAUSE_S)


async def wait_until_async(is_so: Callable[[], bool], *, deadline_s: float = DEADLINE_S) -> None:
    """The same under asyncio."""
    until_s = time.monotonic() + deadline_s
    while not is_so():
        if time.monotonic() >= until_s:
            raise TimeoutError(f"it is not so after {deadline_s} s")
        await asyncio.sleep(PAUSE_S)
