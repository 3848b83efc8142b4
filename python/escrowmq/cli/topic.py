"""`escrowmq topic`: topics and their queues."""

from typing import Any, Final

import click
from msgspec.structs import replace

from escrowmq.admin import topics
from escrowmq.admin.client import Admin
from escrowmq.cli import output
from escrowmq.cli.arguments import Command, Number, target_brokers, target_options
from escrowmq.cli.asking import Agree, agreeing, asking
from escrowmq.errors import NotThere
from escrowmq.model.topic import Permission, TopicConfig

QUEUES: Final = 8
_PERMISSIONS: Final = {
    "rw": Permission.READ | Permission.WRITE,
    "r": Permission.READ,
    "w": Permission.WRITE,
}
_TYPES: Final = ("NORMAL", "FIFO", "DELAY", "TRANSACTION", "UNSPECIFIED")
_TYPE: Final = "message.type"
_SUMMARY: Final = {
    "topic": "topic",
    "kind": "kind",
    "read queues": "read_queues",
    "write queues": "write_queues",
    "permission": "permission",
    "brokers": "brokers",
}
_SETTINGS: Final = {
    "topic": "topic",
    "broker": "broker",
    "read queues": "read_queues",
    "write queues": "write_queues",
    "permission": "permission",
    "ordered": "is_ordered",
    "attributes": "attributes",
}
_PLACES: Final = {
    "cluster": "cluster",
    "broker": "broker",
    "address": "address",
    "read queues": "read_queues",
    "write queues": "write_queues",
    "permission": "permission",
}
_QUEUES: Final = {
    "broker": "broker",
    "queue": "queue_id",
    "first offset": "min_offset",
    "end offset": "max_offset",
    "messages": "messages",
    "last stored": "last_stored_at_ms",
}
_NO_TOPICS: Final = "there are no topics; --all shows those that are not for users too"
_TOPIC: Final = click.argument("name", metavar="TOPIC")


@click.group()
def topic() -> None:
    """Shows, makes, alters and deletes topics."""


@topic.command("list")
@click.option("--all", "is_all", is_flag=True, help="Retry, dead-letter and system topics too.")
@asking
def list_(admin: Admin, *, is_all: bool, is_json: bool) -> None:
    """Lists topics.

    With their queues, permissions and brokers. In mqadmin: topicList.
    """
    found = [found for found in topics.list_topics(admin) if is_all or found.kind == "normal"]
    output.show_list(found, _SUMMARY, empty=_NO_TOPICS, is_json=is_json)


@topic.command()
@_TOPIC
@asking
def show(admin: Admin, *, name: str, is_json: bool) -> None:
    """Shows where a topic is and what it holds.

    With the groups that read it and the offsets of each queue. In mqadmin: topicRoute, topicStatus.
    """
    _show(topics.show_topic(admin, name), is_json=is_json)


def _settings(command: Command) -> Command:
    """What can be said of a topic."""
    for option in (
        click.option("--type", "message_type", type=click.Choice(_TYPES), help="Kind of messages that it is for."),
        click.option("--ordered/--unordered", "is_ordered", default=None, help="Whether it is for ordered messages."),
        click.option("--permission", type=click.Choice(tuple(_PERMISSIONS)), help="What clients may do: read, write."),
        click.option("--write-queues", type=Number(min=1), help="Queues to send to, where they differ."),
        click.option("--read-queues", type=Number(min=1), help="Queues to read from, where they differ."),
        click.option(
            "--queues",
            type=Number(min=1),
            help=f"Queues on each broker. A new topic has {QUEUES}.",
        ),
    ):
        command = option(command)
    return command


@topic.command()
@_TOPIC
@_settings
@target_options
@asking
def create(admin: Admin, *, name: str, broker: str | None, cluster: str | None, is_json: bool, **said: Any) -> None:
    """Makes a topic.

    In mqadmin: updateTopic.
    """
    brokers = target_brokers(admin, broker, cluster)
    there = topics.find_topic(admin, name, brokers)
    if there:
        raise click.ClickException(f"{name!r} is there, on {', '.join(there)}; `escrowmq topic update` alters it")
    topics.put_topic(admin, _changed(TopicConfig(name, QUEUES, QUEUES), **said), brokers)
    _show_settings(topics.find_topic(admin, name, brokers), is_json=is_json)


@topic.command()
@_TOPIC
@_settings
@target_options
@asking
def update(admin: Admin, *, name: str, broker: str | None, cluster: str | None, is_json: bool, **said: Any) -> None:
    """Alters a topic.

    On the brokers that have it; what is not said stays as it is. In mqadmin: updateTopic, updateTopicPerm.
    """
    brokers = target_brokers(admin, broker, cluster)
    there = topics.find_topic(admin, name, brokers)
    if not there:
        raise NotThere(f"there is no topic {name!r}", kind="topic", name=name)
    for has_it, config in there.items():
        # Attributes that are not said stay by themselves.
        topics.put_topic(admin, _changed(replace(config, attributes={}), **said), {has_it: brokers[has_it]})
    _show_settings(topics.find_topic(admin, name, brokers), is_json=is_json)


@topic.command()
@_TOPIC
@agreeing
@asking
def delete(admin: Admin, *, name: str, agree: Agree, is_json: bool) -> None:
    """Deletes a topic.

    From all its brokers and name servers, and with it what groups have read of it. In mqadmin: deleteTopic.
    """
    admin.route(name)
    agree(f"the topic {name} and its messages will be gone")
    brokers = topics.delete_topic(admin, name)
    if is_json:
        output.show_json({"topic": name, "brokers": brokers})
    else:
        click.echo(f"{name} is deleted from {', '.join(brokers)}")


def _changed(
    config: TopicConfig,
    *,
    queues: int | None,
    read_queues: int | None,
    write_queues: int | None,
    permission: str | None,
    is_ordered: bool | None,
    message_type: str | None,
) -> TopicConfig:
    """A topic with what the command line says of it."""
    said = {
        "read_queues": read_queues or queues,
        "write_queues": write_queues or queues,
        "permissions": None if permission is None else _PERMISSIONS[permission],
        "is_ordered": is_ordered,
        "attributes": None if message_type is None else {_TYPE: message_type},
    }
    return replace(config, **{name: value for name, value in said.items() if value is not None})


def _show_settings(configs: dict[str, TopicConfig], *, is_json: bool) -> None:
    shown = topics.settings_of(configs)
    output.show_list(shown, _SETTINGS, empty="no broker has it", is_json=is_json)


def _show(details: topics.TopicDetails, *, is_json: bool) -> None:
    if is_json:
        output.show_json(details)
        return
    output.show_facts(
        {
            "topic": details.topic,
            "kind": details.kind,
            "ordered": details.is_ordered,
            "attributes": details.attributes,
            "groups": details.groups,
            "messages": sum(queue.messages for queue in details.queues),
        }
    )
    output.show_table(details.places, _PLACES, empty="no broker has it")
    output.show_table(details.queues, _QUEUES, empty="it has no queues")
