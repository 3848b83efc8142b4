"""Values of the command line that several commands read: times, pairs, and the brokers that something is for."""

import re
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import click

from escrowmq.admin.client import Admin
from escrowmq.model.place import Place

Command = Callable[..., Any]

_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO: Final = re.compile(r"(\d+)([smhd])")
TIME_HELP: Final = "2026-11-18T15:00, or 90s, 10m, 2h or 3d for so long ago, or milliseconds since 1970"


class Number(click.IntRange):
    """A whole number that is not too small."""

    name = "N"


class Time(click.ParamType[int]):
    """A time, in milliseconds since 1970 UTC."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Reads it in any of the forms of `TIME_HELP`."""
        if isinstance(value, int):
            return value
        text = str(value).strip()
        ago = _AGO.fullmatch(text)
        if ago:
            return time.time_ns() // 1_000_000 - int(ago[1]) * _UNITS_MS[ago[2]]
        if text.isdecimal():
            return int(text)
        try:
            return round(datetime.fromisoformat(text).astimezone().timestamp() * 1_000)
        except (ValueError, OverflowError, OSError):
            self.fail(f"{text!r} is no time: say {TIME_HELP}", param, ctx)


class Where(click.ParamType[Place]):
    """A place in queues: `earliest`, `latest` or a time."""

    name = "earliest|latest|TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Place:
        """Reads it."""
        places: dict[object, Place] = {"earliest": "earliest", "latest": "latest"}
        return places[value] if value in places else Time().convert(value, param, ctx)


def pairs(texts: Sequence[str], *, hint: str) -> dict[str, str]:
    """What `KEY=VALUE` says, each once.

    Raises:
        BadParameter: One of them is none.
    """
    found = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=hint)
        found[key.strip()] = value
    return found


def target_options(command: Command) -> Command:
    """Gives a command `--broker` and `--cluster`: where something is to be made or altered."""
    cluster = click.option("--cluster", metavar="NAME", help="All brokers of this cluster. Default: all there are.")
    broker = click.option("--broker", metavar="NAME|HOST:PORT", help="This broker only.")
    return broker(cluster(command))


def target_brokers(admin: Admin, broker: str | None, cluster: str | None) -> dict[str, str]:
    """The masters that these options mean, by name.

    Raises:
        UsageError: Both were said, which contradict each other, or neither where there is more than one cluster.
        NotThere: There is none.
    """
    if broker is not None and cluster is not None:
        raise click.UsageError("--broker and --cluster contradict each other: say one of them")
    if broker is None and cluster is None and len(clusters := sorted(admin.cluster_info().clusters)) > 1:
        raise click.UsageError(f"there is more than one cluster: say --cluster with one of {', '.join(clusters)}")
    return admin.masters(broker=broker, cluster=cluster)
