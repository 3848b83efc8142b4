"""`escrowmq message`: single messages, and what the queues of a topic hold."""

import base64
import contextlib
import sys
from itertools import islice
from typing import Any, BinaryIO, Final

import click
from msgspec import Struct
from msgspec.structs import asdict

from escrowmq.admin import messages, reading, redelivery
from escrowmq.admin.client import Admin
from escrowmq.cli import output
from escrowmq.cli.arguments import TIME_HELP, Number, Time, Where, pairs
from escrowmq.cli.asking import asking
from escrowmq.model.place import Place
from escrowmq.protocol.properties import DELAY, KEYS, TAGS, TIMER_DELAY_MS

_FOUND: Final = {
    "stored": "stored_at_ms",
    "broker": "broker",
    "queue": "queue_id",
    "offset": "queue_offset",
    "id": "message_id",
    "tags": "tags",
    "keys": "keys",
}
_TOPIC: Final = click.argument("topic")
_COUNT: Final = click.option("--max", "count_max", type=Number(min=1), help="As many messages at most.")


@click.group()
def message() -> None:
    """Sends messages, finds them, and shows what topics hold."""


@message.command()
@_TOPIC
@click.argument("body", required=False)
@click.option("--file", type=click.File("rb"), help="Read the body from a file, or from standard input as -.")
@click.option("--tag", help="What consumers choose by.")
@click.option("--key", "keys", multiple=True, help="What it can be found by; as often as wanted.")
@click.option("--property", "properties", multiple=True, metavar="KEY=VALUE", help="A property; as often as wanted.")
@click.option("--delay", type=click.FloatRange(min=0.001), metavar="SECONDS", help="Deliver it so much later.")
@click.option(
    "--delay-level",
    type=Number(min=1),
    help="Deliver it later, by a delay level of the broker.",
)
@click.option("--broker", metavar="NAME|HOST:PORT", help="Send it to this broker.")
@click.option(
    "--queue",
    "queue_id",
    type=Number(min=0),
    help="Its queue. Default: the broker chooses.",
)
@asking
def send(
    admin: Admin,
    *,
    topic: str,
    body: str | None,
    file: BinaryIO | None,
    broker: str | None,
    queue_id: int | None,
    is_json: bool,
    **said: Any,
) -> None:
    """Sends a message.

    BODY is its text; --file is for everything else. In mqadmin: sendMessage.
    """
    if (body is None) == (file is None):
        raise click.UsageError("say either BODY or --file")
    content = file.read() if file is not None else (body or "").encode()
    sent = messages.send_message(
        admin, topic, content, properties=_properties(**said), broker=broker, queue_id=queue_id
    )
    _show_values(sent, is_json=is_json)


@message.command()
@click.argument("message_id", metavar="[ID]", required=False)
@click.option("--topic", help="Its topic: needed for the id that a producer gives, and for an offset.")
@click.option("--queue", "queue_id", type=Number(min=0), help="Its queue, instead of an id.")
@click.option("--offset", type=Number(min=0), help="Its offset in the queue, instead of an id.")
@click.option("--broker", metavar="NAME", help="The broker of that queue.")
@click.option("--body-only", is_flag=True, help="Write the body as it is, and nothing else.")
@asking
def show(
    admin: Admin,
    *,
    message_id: str | None,
    topic: str | None,
    queue_id: int | None,
    offset: int | None,
    broker: str | None,
    body_only: bool,
    is_json: bool,
) -> None:
    """Shows a message, by its id or its place.

    ID is the one that its producer gave, with --topic, or the one that its broker gave.
    In mqadmin: queryMsgByUniqueKey, queryMsgById, queryMsgByOffset.
    """
    if message_id is not None and queue_id is None and offset is None:
        found = messages.find_by_id(admin, message_id, topic=topic)
    elif message_id is None and topic is not None and queue_id is not None and offset is not None:
        found = [messages.find_by_offset(admin, topic, queue_id, offset, broker=broker)]
    else:
        raise click.UsageError("say either ID, or --topic, --queue and --offset")
    if body_only:
        sys.stdout.buffer.write(found[0].body)
    elif is_json:
        output.show_json([_values(one) for one in found])
    else:
        for one in found:
            _show(one)


@message.command()
@click.argument("message_id", metavar="ID")
@click.option("--group", required=True, help="The group whose consumer gets it.")
@click.option("--client", "client_id", help="Client id of the consumer. Default: the first that is connected.")
@click.option("--topic", help="Its topic: needed for the id that a producer gives.")
@asking
def redeliver(
    admin: Admin, *, message_id: str, group: str, client_id: str | None, topic: str | None, is_json: bool
) -> None:
    """Has a consumer consume a message again.

    At once, and past its group's progress; shows what became of it. ID is as for show.
    In mqadmin: queryMsgByUniqueKey -g -d, queryMsgById -g -d.
    """
    found, *_ = messages.find_by_id(admin, message_id, topic=topic)
    _show_values(redelivery.redeliver(admin, found, group, client_id=client_id), is_json=is_json)


@message.command()
@_TOPIC
@click.argument("key")
@click.option("--from", "begin_ms", type=Time(), default=0, help=f"Stored at TIME or later: {TIME_HELP}.")
@click.option("--to", "end_ms", type=Time(), default=messages.TIME_MAX_MS, help="Stored at TIME or before.")
@_COUNT
@asking
def find(
    admin: Admin, *, topic: str, key: str, begin_ms: int, end_ms: int, count_max: int | None, is_json: bool
) -> None:
    """Finds messages by a key.

    The newest of a TOPIC with a KEY, 64 of each broker at most. In mqadmin: queryMsgByKey.
    """
    count_max = count_max or messages.FOUND_MAX
    found = messages.find_by_key(admin, topic, key, begin_ms=begin_ms, end_ms=end_ms, count_max=count_max)
    if is_json:
        output.show_json([_values(one) for one in found])
    else:
        output.show_table(found, _FOUND, empty=f"no message of {topic} has the key {key} in that time")


@message.command()
@_TOPIC
@click.option("--from", "begin", type=Where(), metavar=Where.name, help=f"Where to begin. TIME is {TIME_HELP}.")
@click.option("--to", "end_ms", type=Time(), help="Up to what was stored at TIME.")
@click.option("--tag", "tags", multiple=True, help="Only with this tag; as often as wanted.")
@click.option("--sql", default="", help="Only what this SQL92 expression wants, where the broker can filter so.")
@_COUNT
@click.option("--follow", "-f", "is_following", is_flag=True, help="Go on with what arrives, until Ctrl-C.")
@asking
def read(
    admin: Admin,
    *,
    topic: str,
    begin: Place | None,
    end_ms: int | None,
    tags: tuple[str, ...],
    sql: str,
    count_max: int | None,
    is_following: bool,
    is_json: bool,
) -> None:
    """Prints the messages of a topic.

    Oldest first, and without being a consumer: nobody's progress changes. It begins with the earliest message or, with
    --follow, behind the latest. With --json each message is a line. In mqadmin: printMsg, consumeMessage.
    """
    if is_following and end_ms is not None:
        raise click.UsageError("--follow has no end: leave --to out")
    if tags and sql:
        raise click.UsageError("say either --tag or --sql")
    place = begin if begin is not None else "latest" if is_following else "earliest"
    selection = reading.Selection(topic=topic, begin=place, end_ms=end_ms, tags=tags, sql=sql)
    found = reading.follow_topic(admin, selection) if is_following else reading.read_topic(admin, selection)
    # Ctrl-C is how one stops following.
    with contextlib.suppress(*([KeyboardInterrupt] if is_following else [])):
        for one in islice(found, count_max):
            if is_json:
                output.show_json_line(_values(one))
            else:
                click.echo(_line(one))


def _show_values(item: Struct, *, is_json: bool) -> None:
    if is_json:
        output.show_json(item)
    else:
        output.show_facts({name.replace("_", " "): value for name, value in asdict(item).items()})


def _properties(
    *,
    tag: str | None,
    keys: tuple[str, ...],
    properties: tuple[str, ...],
    delay: float | None,
    delay_level: int | None,
) -> dict[str, str]:
    """The properties of a message that is sent."""
    if delay is not None and delay_level is not None:
        raise click.UsageError("say either --delay or --delay-level")
    named = {
        TAGS: tag,
        KEYS: " ".join(keys),
        DELAY: None if delay_level is None else str(delay_level),
        TIMER_DELAY_MS: None if delay is None else str(round(delay * 1_000)),
    }
    return {**pairs(properties, hint="--property"), **{name: value for name, value in named.items() if value}}


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _values(found: messages.FoundMessage) -> dict[str, Any]:
    """A message for programs: its body as text, and where it is none, as base64."""
    text = _text(found.body)
    encoded = base64.b64encode(found.body).decode() if text is None else None
    return {**asdict(found), "body": text, "body_base64": encoded}


def _line(found: messages.FoundMessage) -> str:
    """A message for people, on one line."""
    text = _text(found.body)
    body = f"{len(found.body)} bytes that are no text" if text is None else output.printable(text).replace("\n", "\\n")
    place = f"{found.broker}/{found.queue_id}/{found.queue_offset}"
    return f"{output.time_text(found.stored_at_ms)}  {place}  {output.text_of(found.tags)}  {body}"


def _show(found: messages.FoundMessage) -> None:
    text = _text(found.body)
    output.show_facts(
        {
            "id": found.message_id,
            "offset id": found.offset_id,
            "topic": found.topic,
            "broker": found.broker,
            "queue": found.queue_id,
            "offset": found.queue_offset,
            "log offset": found.log_offset,
            "tags": found.tags,
            "keys": found.keys,
            "born": f"{output.time_text(found.born_at_ms)} at {found.born_host}",
            "stored": f"{output.time_text(found.stored_at_ms)} at {found.store_host}",
            "tried again": found.reconsume_times,
            "properties": found.properties,
            "body": f"{len(found.body)} bytes that are no text: --body-only writes them" if text is None else text,
        }
    )
