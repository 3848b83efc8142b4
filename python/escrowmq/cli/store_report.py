"""What `escrowmq store` prints: tables for people, JSON for programs, and a bar where somebody watches."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec import Struct
from msgspec.structs import asdict
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from escrowmq._core import Finding, IndexFileStatus, Inspection, QueueStatus, StoreSummary
from escrowmq.cli.output import count_text, show_facts, show_json, show_table, time_text, values

if TYPE_CHECKING:
    from escrowmq.broker.recovering import Recovered

_SUMMARY = (
    *("path", "holder", "was_killed", "segment_size_bytes", "segments", "log_start", "log_end", "oldest_ms"),
    *("newest_ms", "checkpoint_log_ms", "checkpoint_queues_ms", "checkpoint_index_ms", "config_files"),
)
_QUEUE = ("topic", "queue_id", "min_offset", "max_offset")
_INDEX_FILE = ("name", "entries", "begin_ms", "end_ms")
_FINDING = ("severity", "part", "path", "offset", "message")
_TOPIC_COLUMNS: Final = {"topic": "topic", "queues": "queues", "messages": "messages", "last offset": "last_offset"}
_FINDING_COLUMNS: Final = {"severity": "severity", "part": "part", "where": "where", "what": "what"}


class _TopicRow(Struct, frozen=True):
    topic: str
    queues: int
    messages: int
    last_offset: int


class _FindingRow(Struct, frozen=True):
    severity: str
    part: str
    where: str
    what: str


def show_summary(summary: StoreSummary, *, is_json: bool) -> None:
    """Prints what a store holds."""
    if is_json:
        tables = {
            "queues": [values(queue, _QUEUE) for queue in summary.queues],
            "index_files": [values(file, _INDEX_FILE) for file in summary.index_files],
        }
        show_json(values(summary, _SUMMARY) | tables)
        return
    show_facts(_facts(summary))
    show_table(_topics(summary.queues), _TOPIC_COLUMNS, empty="it has no queues")


def run_check(inspection: Inspection) -> None:
    """Checks everything, and shows how far it is where somebody watches."""
    columns = (TextColumn("checking"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("checking")
        has_more = True
        while has_more:
            has_more = inspection.check()
            done, total = inspection.progress
            progress.update(task, completed=done, total=total)


def show_findings(inspection: Inspection, folder: Path, *, is_json: bool) -> None:
    """Prints what a check has found."""
    findings, errors, notes = inspection.findings, inspection.errors, inspection.notes
    if is_json:
        found = [values(finding, _FINDING) for finding in findings]
        show_json({"path": folder, "errors": errors, "notes": notes, "findings": found})
        return
    if findings:
        show_table(_findings(findings, folder), _FINDING_COLUMNS, empty="")
    left_out = errors + notes - len(findings)
    if left_out:
        click.echo(f"and {left_out} more")
    verdict = "whole" if not errors else "damaged"
    click.echo(f"{folder} is {verdict}: {count_text(errors, 'error')}, {count_text(notes, 'note')}")


def show_recovered(recovered: "Recovered", *, is_json: bool) -> None:
    """Prints what a recovery has found and done."""
    if is_json:
        show_json(asdict(recovered))
        return
    show_facts(
        {
            "store": recovered.path,
            "last stop": "none, or a kill" if recovered.was_killed else "in order",
            "log": f"ends at {recovered.log_end}{', its torn end was cut' if recovered.has_cut_log else ''}",
            "op records": f"written for {count_text(recovered.marked, 'decided transaction')}",
            "progress": (
                f"half messages {recovered.half_offset}, op records {recovered.op_offset}, "
                f"{'written down' if recovered.has_moved_progress else 'as it was written down'}"
            ),
            "undecided": count_text(recovered.pending, "transaction"),
        }
    )


def _facts(summary: StoreSummary) -> dict[str, object]:
    size = summary.log_end - summary.log_start
    return {
        "store": summary.path,
        "open": f"by process {summary.holder}" if summary.holder is not None else "no",
        "last stop": "none, or a kill: the next start recovers" if summary.was_killed else "in order",
        "log": f"{summary.log_start} to {summary.log_end}, {decimal(size)} in {count_text(summary.segments, 'file')}",
        "messages": f"{time_text(summary.oldest_ms)} to {time_text(summary.newest_ms)}",
        "queues": len(summary.queues),
        "key index": _index(summary.index_files),
        "checkpoint": (
            f"log {time_text(summary.checkpoint_log_ms)}, queues {time_text(summary.checkpoint_queues_ms)}, "
            f"index {time_text(summary.checkpoint_index_ms)}"
        ),
        "configuration": ", ".join(summary.config_files) or "none",
    }


def _topics(queues: Iterable[QueueStatus]) -> list[_TopicRow]:
    rows = []
    for topic, group in groupby(queues, key=lambda queue: queue.topic):
        members = list(group)
        messages = sum(queue.max_offset - queue.min_offset for queue in members)
        rows.append(_TopicRow(topic, len(members), messages, max(queue.max_offset for queue in members)))
    return rows


def _findings(findings: Iterable[Finding], folder: Path) -> list[_FindingRow]:
    rows = []
    for finding in findings:
        path = finding.path.relative_to(folder) if finding.path.is_relative_to(folder) else finding.path
        where = str(path) if finding.offset is None else f"{path} at {finding.offset}"
        rows.append(_FindingRow(finding.severity, finding.part, where, finding.message))
    return rows


def _index(files: list[IndexFileStatus]) -> str:
    return f"{count_text(sum(file.entries for file in files), 'entry')} in {count_text(len(files), 'file')}"
