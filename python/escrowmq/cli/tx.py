"""`escrowmq tx`: transactions, and what an operator may do about them."""

import getpass
import itertools
import time
from collections.abc import Callable
from typing import Final

import click

from escrowmq.admin import transactions
from escrowmq.admin.client import Admin
from escrowmq.admin.transactions import Decision, KnownTransaction, State
from escrowmq.cli import output
from escrowmq.cli.arguments import Number, target_brokers, target_options
from escrowmq.cli.asking import agreeing, asking

Agree = Callable[[str], None]

_LIST: Final = {
    "transaction": "transaction_id",
    "group": "group",
    "topic": "topic",
    "state": "state",
    "questions": "checks",
    "prepared": "prepared_at_ms",
    "decided": "decided_at_ms",
    "by": "decided_by",
    "broker": "broker",
}
_COUNTS: Final = {
    "broker": "broker",
    "pending": "pending",
    "decided": "decided",
    "oldest pending": "oldest_pending_at_ms",
}
_ID: Final = click.argument("transaction_id", metavar="ID")


@click.group()
def tx() -> None:
    """Shows transactions, and decides those that nobody decides."""


@tx.command("list")
@click.option("--decided", "is_decided", is_flag=True, help="Those that were decided, the last first, instead.")
@click.option("--group", metavar="NAME", help="Of this producer group only.")
@click.option("--limit", "count_max", type=Number(min=1), default=100, show_default=True, help="So many of a broker.")
@target_options
@asking
def list_(
    admin: Admin,
    *,
    is_decided: bool,
    group: str | None,
    count_max: int,
    broker: str | None,
    cluster: str | None,
    is_json: bool,
) -> None:
    """Lists transactions that are undecided.

    In the order in which their producers were asked about them.
    """
    state: State = "decided" if is_decided else "pending"
    brokers = target_brokers(admin, broker, cluster)
    found = transactions.list_transactions(admin, brokers, state=state, group=group, count_max=count_max)
    output.show_list(found, _LIST, empty=f"no transaction is {state}", is_json=is_json)


@tx.command()
@_ID
@target_options
@asking
def show(admin: Admin, *, transaction_id: str, broker: str | None, cluster: str | None, is_json: bool) -> None:
    """Shows a transaction."""
    found = transactions.find_transaction(admin, target_brokers(admin, broker, cluster), transaction_id)
    output.show_list(found, _LIST, empty="", is_json=is_json)


@tx.command()
@_ID
@agreeing
@target_options
@asking
def commit(
    admin: Admin, *, transaction_id: str, agree: Agree, broker: str | None, cluster: str | None, is_json: bool
) -> None:
    """Commits a transaction that nobody decides.

    Its message will be delivered, whatever its producer says later. Who did it is written down.
    """
    brokers = target_brokers(admin, broker, cluster)
    _decide(admin, brokers, transaction_id, "commit", agree=agree, is_json=is_json)


@tx.command()
@_ID
@agreeing
@target_options
@asking
def rollback(
    admin: Admin, *, transaction_id: str, agree: Agree, broker: str | None, cluster: str | None, is_json: bool
) -> None:
    """Rolls a transaction back that nobody decides.

    Its message will never be delivered, whatever its producer says later. Who did it is written down.
    """
    brokers = target_brokers(admin, broker, cluster)
    _decide(admin, brokers, transaction_id, "rollback", agree=agree, is_json=is_json)


@tx.command()
@click.argument("message_id", metavar="MESSAGE-ID")
@click.option("--broker", metavar="NAME|HOST:PORT", required=True, help="The broker that gave it up.")
@asking
def resume(admin: Admin, *, message_id: str, broker: str, is_json: bool) -> None:
    """Gives a transaction another chance that was given up.

    MESSAGE-ID is that of its message in TRANS_CHECK_MAX_TIME_TOPIC, as `escrowmq message print` shows it.
    """
    ((name, address),) = admin.masters(broker=broker).items()
    transactions.resume(admin, address, message_id)
    if is_json:
        output.show_json({"messageId": message_id, "broker": name})
    else:
        click.echo(f"{message_id} is pending again on {name}")


@tx.command()
@click.option(
    "--interval", "interval_s", type=click.FloatRange(min=0.1), default=2.0, show_default=True, metavar="SECONDS"
)
@click.option("--count", type=Number(min=1), help="So many times; for ever, unless said.")
@target_options
@asking
def watch(
    admin: Admin, *, interval_s: float, count: int | None, broker: str | None, cluster: str | None, is_json: bool
) -> None:
    """Shows again and again how many transactions are pending."""
    brokers = target_brokers(admin, broker, cluster)
    for turn in itertools.count(1):
        counts = transactions.count_transactions(admin, brokers)
        if is_json:
            output.show_json_line(counts)
        else:
            output.show_table(counts, _COUNTS, empty="")
        if turn == count:
            return
        time.sleep(interval_s)


def _decide(
    admin: Admin, brokers: dict[str, str], transaction_id: str, decision: Decision, *, agree: Agree, is_json: bool
) -> None:
    found = transactions.find_transaction(admin, brokers, transaction_id)
    pending = [one for one in found if one.state == "pending"]
    if not pending:
        states = ", ".join(sorted({one.state.replace("_", " ") for one in found}))
        raise click.ClickException(f"{transaction_id} is {states} already")
    for one in pending:
        agree(f"the {decision} of {_described(one)} can't be undone")
        transactions.decide(admin, brokers[one.broker], one, decision, who=getpass.getuser())
    shown = transactions.find_transaction(admin, brokers, transaction_id)
    output.show_list(shown, _LIST, empty="", is_json=is_json)


def _described(one: KnownTransaction) -> str:
    return f"{one.transaction_id} of {one.group} for {one.topic}"
