"""`escrowmq cluster`: brokers and name servers."""

from typing import Final

import click

from escrowmq.admin import clusters
from escrowmq.admin.client import Admin
from escrowmq.cli import output
from escrowmq.cli.arguments import pairs
from escrowmq.cli.asking import Agree, agreeing, asking

_BROKERS: Final = {
    "cluster": "cluster",
    "broker": "broker",
    "id": "id",
    "address": "address",
    "version": "version",
    "in/s": "messages_in_per_s",
    "out/s": "messages_out_per_s",
    "disk": "disk_used_ratio",
    "problem": "problem",
}
_BROKER: Final = click.argument("broker", metavar="BROKER")
_CHANGES: Final = click.argument("changes", nargs=-1, required=True, metavar="KEY=VALUE...")
_KEYS: Final = click.argument("keys", nargs=-1, metavar="[KEY]...")


@click.group()
def cluster() -> None:
    """Shows and sets up brokers and name servers."""


@cluster.command("list")
@asking
def list_(admin: Admin, *, is_json: bool) -> None:
    """Lists all brokers.

    With their versions and the messages that went in and out in the last seconds; - is what a broker does not tell.
    In mqadmin: clusterList.
    """
    brokers = clusters.list_brokers(admin)
    output.show_list(brokers, _BROKERS, empty="the name server knows no broker", is_json=is_json)


@cluster.command()
@_BROKER
@asking
def status(admin: Admin, *, broker: str, is_json: bool) -> None:
    """Shows how a broker is.

    That is what it tells of itself, in its own words. BROKER is a name or HOST:PORT. In mqadmin: brokerStatus.
    """
    _show(clusters.broker_status(admin, _address(admin, broker)), is_json=is_json)


@cluster.group()
def config() -> None:
    """Shows and changes settings of a broker."""


@config.command("get")
@_BROKER
@_KEYS
@asking
def get_broker(admin: Admin, *, broker: str, keys: tuple[str, ...], is_json: bool) -> None:
    """Shows settings of a broker.

    All, or those of some keys, which are RocketMQ's. BROKER is a name or HOST:PORT. In mqadmin: getBrokerConfig.
    """
    _show(_chosen(clusters.broker_settings(admin, _address(admin, broker)), keys), is_json=is_json)


@config.command("set")
@_BROKER
@_CHANGES
@asking
def set_broker(admin: Admin, *, broker: str, changes: tuple[str, ...], is_json: bool) -> None:
    """Changes settings of a broker.

    While it runs; keys are RocketMQ's. Shows them as they are then. BROKER is a name or HOST:PORT.
    In mqadmin: updateBrokerConfig.
    """
    wanted, address = pairs(changes, hint="KEY=VALUE"), _address(admin, broker)
    clusters.change_broker_settings(admin, address, wanted)
    _show(_chosen(clusters.broker_settings(admin, address), tuple(wanted)), is_json=is_json)


@cluster.group()
def namesrv_config() -> None:
    """Shows and changes settings of the name servers."""


@namesrv_config.command("get")
@_KEYS
@asking
def get_name_server(admin: Admin, *, keys: tuple[str, ...], is_json: bool) -> None:
    """Shows settings of the name servers.

    All, or those of some keys, which are RocketMQ's. In mqadmin: getNamesrvConfig.
    """
    _show_name_servers(admin, keys, is_json=is_json)


@namesrv_config.command("set")
@_CHANGES
@asking
def set_name_server(admin: Admin, *, changes: tuple[str, ...], is_json: bool) -> None:
    """Changes settings of the name servers.

    While they run; keys are RocketMQ's. Shows them as they are then. In mqadmin: updateNamesrvConfig.
    """
    wanted = pairs(changes, hint="KEY=VALUE")
    clusters.change_name_server_settings(admin, wanted)
    _show_name_servers(admin, tuple(wanted), is_json=is_json)


@cluster.command()
@_BROKER
@agreeing
@asking
def forbid_writes(admin: Admin, *, broker: str, agree: Agree, is_json: bool) -> None:
    """Has nothing sent to a broker any more.

    Name servers tell producers so; what it has can still be read. BROKER is a name. allow-writes undoes it.
    In mqadmin: wipeWritePerm.
    """
    agree(f"producers will not send to {broker} any more")
    _show_topics(broker, clusters.forbid_writes(admin, broker), "closed", is_json=is_json)


@cluster.command()
@_BROKER
@asking
def allow_writes(admin: Admin, *, broker: str, is_json: bool) -> None:
    """Lets producers send to a broker again.

    BROKER is a name. In mqadmin: addWritePerm.
    """
    _show_topics(broker, clusters.allow_writes(admin, broker), "open", is_json=is_json)


def _address(admin: Admin, broker: str) -> str:
    (address,) = admin.masters(broker=broker).values()
    return address


def _chosen(settings: dict[str, str], keys: tuple[str, ...]) -> dict[str, str | None]:
    """Some settings, or all; None for one that there is not."""
    return {key: settings.get(key) for key in keys or settings}


def _show(settings: dict[str, str] | dict[str, str | None], *, is_json: bool) -> None:
    if is_json:
        output.show_json(settings)
    else:
        output.show_facts(settings)


def _show_name_servers(admin: Admin, keys: tuple[str, ...], *, is_json: bool) -> None:
    shown = {address: _chosen(settings, keys) for address, settings in clusters.name_server_settings(admin).items()}
    if is_json:
        output.show_json(shown)
        return
    for address, settings in shown.items():
        click.echo(f"name server {address}")
        output.show_facts(settings)


def _show_topics(broker: str, topics: int, state: str, *, is_json: bool) -> None:
    if is_json:
        output.show_json({"broker": broker, "topics": topics})
    else:
        click.echo(f"{broker} is {state} for {output.count_text(topics, 'topic')}")
