"""What GET_BROKER_RUNTIME_INFO tells, under RocketMQ's keys. What has no meaning here is a constant that says so."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from escrowmq.broker.work_statistics import Work, WorkStatistics
from escrowmq.protocol.versions import LATEST, version_name

_KIBI: Final = 1024
# Requests that wait for Python at most: what `Limits` has, and no setting changes.
_REQUESTS_MAX: Final = 10_000
_MEASURED_BY_NOBODY: Final = "not measured"
# The same, where tools read a number.
_NO_NUMBER: Final = "-1"
# Sends and pulls are answered when they come: there are no pools of threads, and nothing waits in front of them.
_NO_QUEUES: Final = ("send", "pull", "litePull", "ack")
# Java's largest number, which RocketMQ shows where it has no pool of buffers; nor have we.
_NO_BUFFERS: Final = str(2**31 - 1)


class RuntimeFacts(Struct, frozen=True, kw_only=True):
    """What is found at one moment."""

    booted_at_ms: int
    now_ms: int
    log_start: int
    log_end: int
    durable_end: int
    visible_end: int
    first_stored_at_ms: int
    disk_used_ratio: float
    disk_total_bytes: int
    disk_free_bytes: int
    store_path: str
    bytes_put: int
    puts_failed: int
    requests_waiting: int
    # Of each level of delays: how far it is delivered, and where its queue ends.
    delays: Mapping[int, tuple[int, int]]
    timers_waiting: int


def runtime_info(facts: RuntimeFacts, work: WorkStatistics) -> dict[str, str]:
    """All of it."""
    return {
        **_work(work),
        **_totals(facts, work.now()),
        **_log(facts),
        **_queues(facts),
        **{f"scheduleMessageOffset_{level}": f"{done},{end}" for level, (done, end) in facts.delays.items()},
        "brokerActive": "true",
        "brokerVersionDesc": version_name(LATEST).upper(),
        "bootTimestamp": str(facts.booted_at_ms),
        "runtime": _duration(facts.now_ms - facts.booted_at_ms),
        "startAcceptSendRequestTimeStamp": "0",
        "timerReadBehind": _NO_NUMBER,
        "timerOffsetBehind": _NO_NUMBER,
        "timerCongestNum": str(facts.timers_waiting),
        "timerEnqueueTps": str(work.per_s("timers_taken_in")[0] or 0.0),
        "timerDequeueTps": str(work.per_s("timers_delivered")[0] or 0.0),
    }


def human_size(size_bytes: int) -> str:
    """A size as people read it: `512 B`, `1.5 GiB`."""
    if size_bytes < _KIBI:
        return f"{size_bytes} B"
    size, units = size_bytes / _KIBI, "KMGTPE"
    while size >= _KIBI and len(units) > 1:
        size, units = size / _KIBI, units[1:]
    return f"{size:.1f} {units[0]}iB"


def _work(work: WorkStatistics) -> dict[str, str]:
    found, missed = work.per_s("pulls_found"), work.per_s("pulls_missed")
    total = [(one or 0.0) + (other or 0.0) for one, other in zip(found, missed, strict=True)]
    now, today, yesterday = work.now(), work.this_morning, work.yesterday_morning
    return {
        "putTps": _rates(work.per_s("messages_put")),
        "getFoundTps": _rates(found),
        "getMissTps": _rates(missed),
        "getTotalTps": _rates(total),
        "getTransferredTps": _rates(work.per_s("messages_got")),
        "msgPutTotalYesterdayMorning": str(yesterday.messages_put),
        "msgPutTotalTodayMorning": str(today.messages_put),
        "msgPutTotalTodayNow": str(now.messages_put),
        "msgGetTotalYesterdayMorning": str(yesterday.messages_got),
        "msgGetTotalTodayMorning": str(today.messages_got),
        "msgGetTotalTodayNow": str(now.messages_got),
    }


def _totals(facts: RuntimeFacts, work: Work) -> dict[str, str]:
    # Compat: RocketMQ divides by the number of messages, so it says 1 where there is none.
    count = work.messages_put or 1
    return {
        "putMessageTimesTotal": str(count),
        "putMessageSizeTotal": str(facts.bytes_put),
        "putMessageAverageSize": str(facts.bytes_put / count),
        "putMessageFailedTimes": str(facts.puts_failed),
        "putMessageEntireTimeMax": _MEASURED_BY_NOBODY,
        "getMessageEntireTimeMax": _MEASURED_BY_NOBODY,
        "putMessageDistributeTime": _MEASURED_BY_NOBODY,
        "putLatency99": _MEASURED_BY_NOBODY,
        "putLatency999": _MEASURED_BY_NOBODY,
        "pageCacheLockTimeMills": "0",
        "dispatchMaxBuffer": "0",
    }


def _log(facts: RuntimeFacts) -> dict[str, str]:
    ratio = str(round(facts.disk_used_ratio, 2))
    total, free = human_size(facts.disk_total_bytes), human_size(facts.disk_free_bytes)
    return {
        "commitLogMinOffset": str(facts.log_start),
        "commitLogMaxOffset": str(facts.log_end),
        "commitLogDiskRatio": ratio,
        f"commitLogDiskRatio_{facts.store_path}/commitlog": ratio,
        "consumeQueueDiskRatio": ratio,
        "commitLogDirCapacity": f"Total : {total}, Free : {free}.",
        "dispatchBehindBytes": str(facts.log_end - facts.visible_end),
        "remainHowManyDataToFlush": human_size(facts.log_end - facts.durable_end),
        "remainTransientStoreBufferNumbs": _NO_BUFFERS,
        "earliestMessageTimeStamp": str(facts.first_stored_at_ms),
    }


def _queues(facts: RuntimeFacts) -> dict[str, str]:
    """What waits for Python stands under RocketMQ's queue of queries."""
    info = {
        "queryThreadPoolQueueSize": str(facts.requests_waiting),
        "queryThreadPoolQueueCapacity": str(_REQUESTS_MAX),
        "queryThreadPoolQueueHeadWaitTimeMills": "0",
        "EndTransactionQueueSize": "0",
        "EndTransactionThreadPoolQueueCapacity": "0",
    }
    for name in _NO_QUEUES:
        info[f"{name}ThreadPoolQueueSize"] = "0"
        info[f"{name}ThreadPoolQueueCapacity"] = "0"
        info[f"{name}ThreadPoolQueueHeadWaitTimeMills"] = "0"
    return info


def _rates(rates: Sequence[float | None]) -> str:
    """Compat: a window that is not over yet is empty, and the blanks around it stay."""
    return " ".join("" if rate is None else str(rate) for rate in rates)


def _duration(time_ms: int) -> str:
    minutes, seconds = divmod(max(0, time_ms) // 1_000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days:,} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"
