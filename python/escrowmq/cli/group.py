"""`escrowmq group`: consumer groups, how far they are and who is in them."""

import contextlib
from typing import Any, Final

import click
from msgspec.structs import replace

from escrowmq.admin import groups, topics
from escrowmq.admin.client import Admin
from escrowmq.cli import output
from escrowmq.cli.arguments import TIME_HELP, Command, Number, Where, target_brokers, target_options
from escrowmq.cli.asking import Agree, agreeing, asking
from escrowmq.errors import NotThere
from escrowmq.model import names
from escrowmq.model.place import Place
from escrowmq.model.subscription import SubscriptionGroup

_SUMMARY: Final = {
    "group": "group",
    "members": "members",
    "lag": "lag",
    "topics": "topics",
    "brokers": "brokers",
}
_SETTINGS: Final = {
    "group": "group",
    "broker": "broker",
    "may consume": "may_consume",
    "may broadcast": "may_broadcast",
    "orderly": "is_orderly",
    "retries at most": "retries_max",
    "retry queues": "retry_queues",
}
_MEMBERS: Final = {"client": "client_id", "address": "address", "language": "language", "version": "version"}
_WANTED: Final = {"topic": "topic", "expression type": "expression_type", "expression": "expression"}
_LAGS: Final = {
    "topic": "topic",
    "broker": "broker",
    "queue": "queue_id",
    "consumer offset": "consumer_offset",
    "broker offset": "broker_offset",
    "lag": "lag",
    "in flight": "in_flight",
    "last consumed": "last_consumed_at_ms",
}
_MOVED: Final = {"topic": "topic", "broker": "broker", "queue": "queue_id", "before": "before", "after": "after"}
_NO_GROUPS: Final = "there are no groups; --all shows those of RocketMQ's own tools too"
_GROUP: Final = click.argument("name", metavar="GROUP")


@click.group()
def group() -> None:
    """Shows, makes, alters, moves and deletes consumer groups."""


@group.command("list")
@click.option("--all", "is_all", is_flag=True, help="The groups of RocketMQ's own tools and services too.")
@asking
def list_(admin: Admin, *, is_all: bool, is_json: bool) -> None:
    """Lists groups.

    With how many members they have, and how many messages they are behind. In mqadmin: consumerProgress.
    """
    found = [one for one in groups.list_groups(admin) if is_all or not one.is_system]
    output.show_list(found, _SUMMARY, empty=_NO_GROUPS, is_json=is_json)


@group.command()
@_GROUP
@asking
def show(admin: Admin, *, name: str, is_json: bool) -> None:
    """Shows how far a group is, and who is in it.

    With its lag in each queue, and each member's address, language and version.
    In mqadmin: consumerProgress -g, consumerConnection.
    """
    details = groups.show_group(admin, name)
    if is_json:
        output.show_json(details)
        return
    output.show_facts(
        {
            "group": details.group,
            "brokers": details.brokers,
            "may consume": details.may_consume,
            "may broadcast": details.may_broadcast,
            "orderly": details.is_orderly,
            "retries at most": details.retries_max,
            "message model": details.message_model,
            "begins at": details.consume_from_where,
            "lag": details.lag,
        }
    )
    output.show_table(details.members, _MEMBERS, empty="no consumer is connected")
    if details.subscriptions:
        output.show_table(details.subscriptions, _WANTED, empty="")
    output.show_table(details.queues, _LAGS, empty="it has read nothing yet")


def _settings(command: Command) -> Command:
    """What can be said of a group."""
    for option in (
        click.option("--retry-queues", type=Number(min=1), help="Queues of its retry topic. New groups: 1."),
        click.option(
            "--retries-max",
            type=Number(min=0),
            help="Tries before it gives a message up. New: 16.",
        ),
        click.option("--orderly/--concurrent", "is_orderly", default=None, help="Whether it consumes in order."),
        click.option("--broadcast/--no-broadcast", "may_broadcast", default=None, help="Whether it may broadcast."),
        click.option("--consume/--no-consume", "may_consume", default=None, help="Whether it may consume at all."),
    ):
        command = option(command)
    return command


@group.command()
@_GROUP
@_settings
@target_options
@asking
def create(admin: Admin, *, name: str, broker: str | None, cluster: str | None, is_json: bool, **said: Any) -> None:
    """Makes a group.

    In mqadmin: updateSubGroup.
    """
    brokers = target_brokers(admin, broker, cluster)
    there = groups.find_group(admin, name, brokers)
    if there:
        raise click.ClickException(f"{name!r} is there, on {', '.join(there)}; `escrowmq group update` alters it")
    groups.put_group(admin, _changed(SubscriptionGroup(name=name), said), brokers)
    _show_settings(admin, name, brokers, is_json=is_json)


@group.command()
@_GROUP
@_settings
@target_options
@asking
def update(admin: Admin, *, name: str, broker: str | None, cluster: str | None, is_json: bool, **said: Any) -> None:
    """Alters a group.

    On the brokers that have it; what is not said stays as it is. In mqadmin: updateSubGroup.
    """
    brokers = target_brokers(admin, broker, cluster)
    there = groups.find_group(admin, name, brokers)
    if not there:
        raise groups.not_there(name)
    for has_it, config in there.items():
        groups.put_group(admin, _changed(config, said), {has_it: brokers[has_it]})
    _show_settings(admin, name, brokers, is_json=is_json)


@group.command()
@_GROUP
@click.option("--keep-offsets", "keeps_offsets", is_flag=True, help="Leave what it has read, for one of the same name.")
@click.option("--keep-topics", "keeps_topics", is_flag=True, help="Leave its retry and dead-letter topics.")
@agreeing
@asking
def delete(admin: Admin, *, name: str, keeps_offsets: bool, keeps_topics: bool, agree: Agree, is_json: bool) -> None:
    """Deletes a group.

    And with it what it has read, its retry topic and its dead letters. In mqadmin: deleteSubGroup.
    """
    if not groups.find_group(admin, name, admin.masters()):
        raise groups.not_there(name)
    agree(f"the group {name} will be gone" + ("" if keeps_topics else ", its dead letters too"))
    brokers = groups.delete_group(admin, name, keeps_offsets=keeps_offsets)
    deleted: list[str] = []
    for topic in () if keeps_topics else (names.retry_topic(name), names.dead_letter_topic(name)):
        # A group that never failed to consume has neither.
        with contextlib.suppress(NotThere):
            topics.delete_topic(admin, topic)
            deleted.append(topic)
    if is_json:
        output.show_json({"group": name, "brokers": brokers, "topics": deleted})
    else:
        click.echo(f"{name} is deleted from {', '.join(brokers)}" + "".join(f", {topic} too" for topic in deleted))


@group.command()
@_GROUP
@click.option("--topic", required=True, help="The topic in which it is moved.")
@click.option("--to", "place", type=Where(), metavar=Where.name, required=True, help=f"Where to. TIME is {TIME_HELP}.")
@agreeing
@asking
def reset(admin: Admin, *, name: str, topic: str, place: Place, agree: Agree, is_json: bool) -> None:
    """Moves a group back or forth in a topic.

    To a time, to the earliest messages, or past the latest, which skips all that it has not consumed. Its members move
    too. In mqadmin: resetOffsetByTime, skipAccumulatedMessage.
    """
    where = place if isinstance(place, str) else output.time_text(place)
    agree(f"the group {name} will go on at {where} in {topic}")
    moved = groups.reset_group(admin, name, topic, place)
    output.show_list(moved, _MOVED, empty="no queue has moved", is_json=is_json)


@group.command()
@click.argument("source")
@click.argument("destination")
@click.option("--topic", default="", help="In this topic only. Default: in all that the source has read of.")
@agreeing
@asking
def clone(admin: Admin, *, source: str, destination: str, topic: str, agree: Agree, is_json: bool) -> None:
    """Has a group go on where another one is.

    DESTINATION gets the offsets of SOURCE. In mqadmin: cloneGroupOffset.
    """
    agree(f"the group {destination} will go on where {source} is")
    lags = groups.clone_group(admin, source, destination, topic=topic)
    output.show_list(lags, _LAGS, empty="nothing was cloned", is_json=is_json)


def _changed(config: SubscriptionGroup, said: dict[str, Any]) -> SubscriptionGroup:
    """A group with what the command line says of it."""
    return replace(config, **{name: value for name, value in said.items() if value is not None})


def _show_settings(admin: Admin, name: str, brokers: dict[str, str], *, is_json: bool) -> None:
    shown = groups.settings_of(groups.find_group(admin, name, brokers))
    output.show_list(shown, _SETTINGS, empty="no broker has it", is_json=is_json)
