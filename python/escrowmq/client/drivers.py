"""The three ways to carry an operation out: blocking, under asyncio, and calling back. Nobody else waits."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from escrowmq.client.asking import Asking
from escrowmq.client.engine import Engine
from escrowmq.client.operation import Cancel, Operation, Outcome, Step
from escrowmq.errors import NoAnswer, TransportError

T = TypeVar("T")

_LOG: Final = logging.getLogger("escrowmq.client")


class _Waiter:
    """A thread that waits for one step after the other."""

    __slots__ = ("_lock", "error", "value")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.value: object = None
        self.error: Exception | None = None

    def settle(self, value: object, error: Exception | None) -> None:
        self.value, self.error = value, error
        self._lock.release()

    def wait(self, timeout_s: float) -> bool:
        """Whether it was settled in time. Signals are seen to meanwhile."""
        return self._lock.acquire(timeout=timeout_s)


def run_blocking(engine: Engine, operation: Operation[T], *, timeout_s: float | None) -> T:
    """Carries an operation out on this thread.

    Raises:
        NoAnswer: It takes longer than `timeout_s`.
    """
    until_s = None if timeout_s is None else time.monotonic() + timeout_s
    try:
        step = next(operation)
        while True:
            if type(step) is Asking:
                step = _ask(engine, operation, step, until_s, timeout_s)
                continue
            waiter = _Waiter()
            cancel = step.begin(engine, waiter.settle)
            try:
                is_in_time = waiter.wait(-1 if until_s is None else max(0.0, until_s - time.monotonic()))
            except BaseException:
                cancel()
                raise
            if not is_in_time:
                cancel()
                raise overdue(timeout_s)
            step = operation.send(waiter.value) if waiter.error is None else operation.throw(waiter.error)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        operation.close()


def _ask(engine: Engine, operation: Operation[T], step: Asking, until_s: float | None, timeout_s: float | None) -> Step:
    """Asks without a waiter of ours, since the thread that reads the answer wakes this one; the next step."""
    left_s = float("inf") if until_s is None else max(0.0, until_s - time.monotonic())
    try:
        answer = step.wait(engine, left_s)
    except NoAnswer as error:
        if left_s < step.timeout_s:
            raise overdue(timeout_s) from None
        return operation.throw(error)
    except TransportError as error:
        return operation.throw(error)
    return operation.send(answer)


class _Mailbox:
    """What came of steps for one event loop, handed over with one call for all that came since the last."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._letters: list[tuple[asyncio.Future[object], object, Exception | None]] = []

    def put(self, future: asyncio.Future[object], value: object, error: Exception | None) -> None:
        with self._lock:
            self._letters.append((future, value, error))
            if len(self._letters) > 1:
                return
        try:
            self._loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:
            _LOG.debug("an event loop was closed while it waited for an answer")

    def _deliver(self) -> None:
        with self._lock:
            letters, self._letters = self._letters, []
        for future, value, error in letters:
            _settle(future, value, error)


def _settle(future: asyncio.Future[object], value: object, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


_MAILBOXES: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Mailbox]] = WeakKeyDictionary()


def _mailbox(loop: asyncio.AbstractEventLoop) -> _Mailbox:
    mailbox = _MAILBOXES.get(loop)
    if mailbox is None:
        mailbox = _MAILBOXES[loop] = _Mailbox(loop)
    return mailbox


async def run_awaiting(engine: Engine, operation: Operation[T], *, timeout_s: float | None) -> T:
    """Carries an operation out under asyncio.

    Raises:
        NoAnswer: It takes longer than `timeout_s`.
    """
    try:
        if timeout_s is None:
            return await _await_steps(engine, operation)
        try:
            async with asyncio.timeout(timeout_s) as time_left:
                return await _await_steps(engine, operation)
        except TimeoutError:
            if time_left.expired():
                raise overdue(timeout_s) from None
            raise
    finally:
        operation.close()


async def _await_steps(engine: Engine, operation: Operation[T]) -> T:
    loop = asyncio.get_running_loop()
    put = _mailbox(loop).put
    try:
        step = next(operation)
        while True:
            future: asyncio.Future[object] = loop.create_future()
            if type(step) is Asking:
                # The loop reads the reply itself.
                mail = engine.loop_mails.of(loop)
                asked = engine.peers.ask(mail, step.address, step.request, partial(_settle, future))
                engine.deadlines.expect(asked, step.timeout_s)
                cancel: Cancel = asked.forget
            else:
                cancel = step.begin(engine, partial(put, future))
            try:
                value = await future
            except asyncio.CancelledError:
                cancel()
                raise
            except Exception as error:  # noqa: BLE001 - it goes where the operation waits
                step = operation.throw(error)
            else:
                step = operation.send(value)
    except StopIteration as end:
        result: T = end.value
        return result


def begin(engine: Engine, operation: Operation[T], done: Callable[[Outcome[T]], None]) -> None:
    """Carries an operation out on the dispatch thread, which is told what came of it."""

    def go_on(value: object, error: Exception | None) -> None:
        try:
            step = operation.send(value) if error is None else operation.throw(error)
        except StopIteration as end:
            done(Outcome(end.value))
            return
        except Exception as failure:  # noqa: BLE001 - whoever began it is told
            done(Outcome(error=failure))
            return
        try:
            step.begin(engine, settle)
        except Exception as failure:  # noqa: BLE001 - it goes where the operation waits
            settle(None, failure)

    def settle(value: object, error: Exception | None) -> None:
        # Not at once: this may be another thread, or `go_on` itself.
        engine.post(lambda: go_on(value, error))

    settle(None, None)


def overdue(timeout_s: float | None) -> NoAnswer:
    """What an operation that takes too long comes to."""
    return NoAnswer(f"nothing came of it within {timeout_s} s", address="")
