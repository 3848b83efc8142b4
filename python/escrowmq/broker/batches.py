"""Handlers of batches, made from handlers of one request: one after the other, or with one append for all.

What goes wrong with one request costs that request only.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias, TypeVar

import structlog

from escrowmq import _core
from escrowmq.broker.context import Context
from escrowmq.broker.outcome import Outcome
from escrowmq.broker.ports import AppendedMessage, ClientRequest
from escrowmq.errors import BadMessage, DiskFull, EscrowError, StoreClosed, StoreError, StorePoisoned
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

# The fast lane appends too, and waits while a batch is copied into the log.
APPEND_SIZE_MAX_BYTES: Final = 1024 * 1024


@dataclass(frozen=True)
class Append:
    """What a request wants appended, and its answer: by where its messages went, or by why they did not."""

    messages: Sequence[_core.Message]
    stored: Callable[[Sequence[AppendedMessage]], Outcome]
    refused: Callable[[ResponseCode, str], Outcome] = Answer


BatchHandler: TypeAlias = Callable[[Context, Sequence[ClientRequest]], Sequence[Outcome]]
Handler: TypeAlias = Callable[[Context, ClientRequest], Outcome]
Planner: TypeAlias = Callable[[Context, ClientRequest], Outcome | Append]
Result = TypeVar("Result")

_log = structlog.get_logger()


def each(handler: Handler) -> BatchHandler:
    """A handler of batches that handles one request after the other."""

    def handle(context: Context, requests: Sequence[ClientRequest]) -> list[Outcome]:
        return [_guarded(request, handler, context, request) for request in requests]

    return handle


def appending(planner: Planner) -> BatchHandler:
    """A handler of batches that plans one request after the other, then appends what all of them want together."""

    def handle(context: Context, requests: Sequence[ClientRequest]) -> list[Outcome]:
        plans = [_guarded(request, planner, context, request) for request in requests]
        wanted = [(request, plan) for request, plan in zip(requests, plans, strict=True) if isinstance(plan, Append)]
        appended = (outcome for part in _parts(wanted) for outcome in _append(context, part))
        return [next(appended) if isinstance(plan, Append) else plan for plan in plans]

    return handle


def failed(request: ClientRequest, error: Exception) -> Answer:
    """The answer to a request that a fault of ours kept from being handled."""
    _log.error("request failed", code=request.code, peer=request.peer, exc_info=error)
    return Answer(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}")


def _parts(wanted: Sequence[tuple[ClientRequest, Append]]) -> Iterator[list[tuple[ClientRequest, Append]]]:
    """The batch in parts that are quickly copied."""
    part: list[tuple[ClientRequest, Append]] = []
    size_bytes = 0
    for request, append in wanted:
        own_bytes = len(request.body)
        if part and size_bytes + own_bytes > APPEND_SIZE_MAX_BYTES:
            yield part
            part, size_bytes = [], 0
        part.append((request, append))
        size_bytes += own_bytes
    if part:
        yield part


def _append(context: Context, part: Sequence[tuple[ClientRequest, Append]]) -> list[Outcome]:
    """Appends at once what the store does not refuse."""
    try:
        receipts = iter(context.log.append([message for _, append in part for message in append.messages]))
    except BadMessage as error:
        owners = [place for place, (_, append) in enumerate(part) for _ in append.messages]
        bad = owners[error.index]
        refused = part[bad][1].refused(ResponseCode.MESSAGE_ILLEGAL, f"the message is illegal: {error}")
        before, after = part[:bad], part[bad + 1 :]
        others = _append(context, [*before, *after])
        return [*others[:bad], refused, *others[bad:]]
    except StoreError as error:
        code, remark = _refusal(error)
        return [append.refused(code, remark) for _, append in part]
    except Exception as error:  # noqa: BLE001 - whoever planned something learns what became of it
        answer = failed(part[0][0], error)
        return [append.refused(ResponseCode(answer.code), answer.remark or "") for _, append in part]
    return [_guarded(request, append.stored, list(islice(receipts, len(append.messages)))) for request, append in part]


def _refusal(error: StoreError) -> tuple[ResponseCode, str]:
    if isinstance(error, DiskFull | StorePoisoned | StoreClosed):
        return ResponseCode.SERVICE_NOT_AVAILABLE, f"service not available now: {error}"
    return ResponseCode.SYSTEM_ERROR, str(error)


def _guarded(request: ClientRequest, handler: Callable[..., Result], *arguments: object) -> Result | Answer:
    try:
        return handler(*arguments)
    except EscrowError as error:
        _log.warning("request refused", code=request.code, peer=request.peer, reason=str(error))
        return Answer(ResponseCode.SYSTEM_ERROR, str(error))
    except Exception as error:  # noqa: BLE001 - a fault in one request must not cost the others
        return failed(request, error)
