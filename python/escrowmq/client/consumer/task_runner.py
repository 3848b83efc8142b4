"""Handlers as tasks of an event loop, a bounded number at a time."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from escrowmq.client.consumer.process_queue import Batch
from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.running import AsyncHandler, Said, call_async


class TaskRunner:
    """Runs one handler on the loop that it is made in; `submit` may be called from any thread."""

    def __init__(self, handler: AsyncHandler, *, name: str, tasks_max: int) -> None:
        self._handler = handler
        self._name = name
        self._tasks_max = tasks_max
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Callable[[], Coroutine[Any, Any, None]]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def submit(self, take: Callable[[], Batch | None], settle: Callable[[Batch, Said], None]) -> None:
        """Calls the handler with what `take` gives when it is this one's turn."""
        self._put(partial(self._run, take, settle))

    def submit_one(self, message: ReceivedMessage, settle: Callable[[Said], None]) -> None:
        """Calls the handler with one message that belongs to no queue."""
        self._put(partial(self._run_one, message, settle))

    async def close(self, *, timeout_s: float) -> bool:
        """Waits until handlers have returned, then cancels those that have not; whether all had."""
        self._is_closed = True
        current = asyncio.current_task()
        tasks = {task for task in self._tasks if task is not current}
        if not tasks:
            return True
        _, late = await asyncio.wait(tasks, timeout=timeout_s)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=timeout_s)
        return not late

    def _put(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._waiting.append(work)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        while self._waiting and len(self._tasks) < self._tasks_max and not self._is_closed:
            task = self._loop.create_task(self._work(self._waiting.popleft()), name=self._name)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        await work()
        # A task goes on with what waits: to begin a new one for each costs more than most handlers.
        while self._waiting and not self._is_closed:
            # A handler that waits for nothing must not keep the loop to itself.
            await asyncio.sleep(0)
            if self._waiting:
                await self._waiting.popleft()()

    async def _run(self, take: Callable[[], Batch | None], settle: Callable[[Batch, Said], None]) -> None:
        batch = take()
        if batch is not None:
            settle(batch, await call_async(self._handler, batch.messages))

    async def _run_one(self, message: ReceivedMessage, settle: Callable[[Said], None]) -> None:
        settle(await call_async(self._handler, [message]))
