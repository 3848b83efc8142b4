"""What `escrowmq store` prints: tables for people, JSON for programs, and a bar where somebody watches."""

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from escrowmq._core import Finding, IndexFileStatus, Inspection, QueueStatus, StoreSummary

_SUMMARY = (
    *("path", "holder", "was_killed", "segment_size_bytes", "segments", "log_start", "log_end", "oldest_ms"),
    *("newest_ms", "checkpoint_log_ms", "checkpoint_queues_ms", "checkpoint_index_ms", "config_files"),
)
_QUEUE = ("topic", "queue_id", "min_offset", "max_offset")
_INDEX_FILE = ("name", "entries", "begin_ms", "end_ms")
_FINDING = ("severity", "part", "path", "offset", "message")


def show_summary(summary: StoreSummary, *, is_json: bool) -> None:
    """Prints what a store holds."""
    if is_json:
        tables = {
            "queues": [_values(queue, _QUEUE) for queue in summary.queues],
            "index_files": [_values(file, _INDEX_FILE) for file in summary.index_files],
        }
        _print_json(_values(summary, _SUMMARY) | tables)
        return
    console = Console()
    console.print(_facts(summary))
    console.print(_topics(summary.queues))


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
        found = [_values(finding, _FINDING) for finding in findings]
        _print_json({"path": folder, "errors": errors, "notes": notes, "findings": found})
        return
    if findings:
        Console().print(_findings(findings, folder))
    left_out = errors + notes - len(findings)
    if left_out:
        click.echo(f"and {left_out} more")
    verdict = "whole" if not errors else "damaged"
    click.echo(f"{folder} is {verdict}: {_count(errors, 'error')}, {_count(notes, 'note')}")


def _facts(summary: StoreSummary) -> Table:
    table = Table(show_header=False, box=None)
    size = summary.log_end - summary.log_start
    rows = {
        "store": summary.path,
        "open": f"by process {summary.holder}" if summary.holder is not None else "no",
        "last stop": "none, or a kill: the next start recovers" if summary.was_killed else "in order",
        "log": f"{summary.log_start} to {summary.log_end}, {decimal(size)} in {_count(summary.segments, 'file')}",
        "messages": f"{_time(summary.oldest_ms)} to {_time(summary.newest_ms)}",
        "queues": len(summary.queues),
        "key index": _index(summary.index_files),
        "checkpoint": (
            f"log {_time(summary.checkpoint_log_ms)}, queues {_time(summary.checkpoint_queues_ms)}, "
            f"index {_time(summary.checkpoint_index_ms)}"
        ),
        "configuration": ", ".join(summary.config_files) or "none",
    }
    for name, value in rows.items():
        table.add_row(name, str(value))
    return table


def _topics(queues: Iterable[QueueStatus]) -> Table:
    table = Table("topic")
    for name in ("queues", "messages", "last offset"):
        table.add_column(name, justify="right")
    for topic, group in groupby(queues, key=lambda queue: queue.topic):
        members = list(group)
        messages = sum(queue.max_offset - queue.min_offset for queue in members)
        table.add_row(topic, str(len(members)), str(messages), str(max(queue.max_offset for queue in members)))
    return table


def _findings(findings: Iterable[Finding], folder: Path) -> Table:
    table = Table("severity", "part", "where", "what")
    for finding in findings:
        path = finding.path.relative_to(folder) if finding.path.is_relative_to(folder) else finding.path
        where = str(path) if finding.offset is None else f"{path} at {finding.offset}"
        table.add_row(finding.severity, finding.part, where, finding.message)
    return table


def _index(files: list[IndexFileStatus]) -> str:
    return f"{_count(sum(file.entries for file in files), 'entry')} in {_count(len(files), 'file')}"


def _count(number: int, noun: str) -> str:
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def _time(time_ms: int | None) -> str:
    if not time_ms:
        return "never"
    return datetime.fromtimestamp(time_ms / 1_000, UTC).isoformat(sep=" ", timespec="milliseconds")


def _values(found: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(found, name) for name in names}


def _print_json(value: object) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str)))
