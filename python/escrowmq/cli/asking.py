"""What all commands share that ask servers: where those are, how errors end a command, and who has to agree first.

Exit codes: 0, it is done; 1, a server refuses, or nobody agreed; 2, the command line is wrong; 3, what was asked for is
not there; 4, a server can't be reached or does not answer.
"""

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from escrowmq.admin.client import Admin
from escrowmq.admin.connections import PATIENCE_S
from escrowmq.errors import EscrowError, NoAnswer, NotReachable, NotThere, Refused
from escrowmq.protocol.response_codes import ResponseCode

Command = Callable[..., None]
Agree = Callable[[str], None]
"""Called with what is about to be done; it returns if that is agreed to."""

REFUSED: Final = 1
NOT_THERE: Final = 3
UNREACHABLE: Final = 4
_PORT_MAX: Final = 65_535

_SEEN_IN: Final[Mapping[str, str]] = {
    "topic": "`escrowmq topic list` shows those that are there",
    "group": "`escrowmq group list` shows those that are there",
    "broker": "`escrowmq cluster list` shows those that are there",
    "cluster": "`escrowmq cluster list` shows those that are there",
    "transaction": "`escrowmq tx list` shows those that are undecided",
    "message": "the id that a producer gave it needs --topic too",
}


class _IsRefused(click.ClickException):
    exit_code = REFUSED


class _IsNotThere(click.ClickException):
    exit_code = NOT_THERE


class _IsUnreachable(click.ClickException):
    exit_code = UNREACHABLE


class _NameServers(click.ParamType[list[str]]):
    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        if isinstance(value, list):
            return value
        addresses = [part.strip().removeprefix("http://") for part in str(value).split(";") if part.strip()]
        for address in addresses:
            host, _, port = address.rpartition(":")
            if not host or not port.isdecimal() or not 0 < int(port) <= _PORT_MAX:
                self.fail(f"{address!r} is not HOST:PORT", param, ctx)
        if not addresses:
            self.fail("names no name server", param, ctx)
        return addresses


def asking(command: Command) -> Command:
    """Gives a command `--namesrv`, `--timeout` and `--json`, and an `Admin`; its errors become sentences."""

    @click.option(
        "--namesrv",
        type=_NameServers(),
        envvar=["ESCROWMQ_NAMESRV", "NAMESRV_ADDR"],
        default="127.0.0.1:9876",
        show_default=True,
        help="Name server to ask, several separated by semicolons. Also ESCROWMQ_NAMESRV or NAMESRV_ADDR.",
    )
    @click.option(
        "--timeout",
        "patience_s",
        type=click.FloatRange(min=0, min_open=True),
        default=PATIENCE_S,
        show_default=True,
        metavar="SECONDS",
        help="How long a server may be silent.",
    )
    @click.option("--json", "is_json", is_flag=True, help="Values for programs instead of tables for people.")
    @functools.wraps(command)
    def with_admin(*, namesrv: list[str], patience_s: float, **given: Any) -> None:
        try:
            with Admin(namesrv, patience_s=patience_s) as admin:
                command(admin, **given)
        except EscrowError as error:
            raise _failure(error) from error

    return with_admin


def agreeing(command: Command) -> Command:
    """Gives a command `--yes`, and in its place what it calls with what it is about to do."""

    @click.option("--yes", "is_agreed", is_flag=True, help="Do it without asking.")
    @functools.wraps(command)
    def with_agreement(*arguments: Any, is_agreed: bool, **given: Any) -> None:
        command(*arguments, agree=functools.partial(_agree, is_agreed=is_agreed), **given)

    return with_agreement


def _agree(what: str, *, is_agreed: bool) -> None:
    """Asks who sits at the terminal; where nobody does, only `--yes` is an agreement."""
    if is_agreed:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{what}: say --yes, since nobody is here to be asked")
    click.confirm(f"{what}. Go on?", abort=True, err=True)


def _failure(error: EscrowError) -> click.ClickException:
    """An error as a sentence with a hint, and its exit code."""
    if isinstance(error, NotThere):
        return _IsNotThere(f"{error}; {_SEEN_IN[error.kind]}")
    if isinstance(error, NotReachable):
        return _IsUnreachable(f"{error}; look whether a server runs there, and what --namesrv says")
    if isinstance(error, NoAnswer):
        return _IsUnreachable(f"{error}; --timeout says how long to wait for it")
    if isinstance(error, Refused) and error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
        return _IsRefused(f"{error}; this server can't do that, another version may")
    return _IsRefused(str(error))
