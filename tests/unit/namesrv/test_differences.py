"""Where we differ from Apache's name server on purpose. Each was seen with the real one, 5.5.0."""

import json

import pytest
from tests.golden.name_server_conversation import (
    CHANGE_SETTINGS,
    CLUSTERS,
    REGISTER,
    ROUTE,
    TOPICS,
    UNREGISTER,
    broker,
    compressed_table,
    table,
    topic,
)
from tests.unit.namesrv.desk import Desk, fastjson_value

from escrowmq.protocol.response_codes import ResponseCode

NOBODY: object = {"brokerAddrTable": {}, "clusterAddrTable": {}}


def clusters(desk: Desk) -> object:
    return fastjson_value(desk.ask(CLUSTERS).body)


def test_a_missing_field_is_named() -> None:
    """Apache goes on with null, and answers whatever comes of it."""
    answer = Desk().ask(ROUTE)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "the custom field <topic> is null")


def test_a_field_of_the_wrong_kind_is_named() -> None:
    """Apache answers with a NullPointerException."""
    answer = Desk().ask(REGISTER, broker() | {"brokerId": "first"}, table(*TOPICS))
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "the custom field <brokerId> is 'first': Expected `int`, got `str`"


@pytest.mark.parametrize(
    ("body", "is_compressed"), [(b"{", "false"), (b"[]", "false"), (b"\xff\xfe", "false"), (b"junk", "true")]
)
def test_a_body_that_is_none_is_refused_in_words(body: bytes, is_compressed: str) -> None:
    desk = Desk()
    answer = desk.ask(REGISTER, broker(compressed=is_compressed), body)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark is not None
    assert "java" not in answer.remark
    assert clusters(desk) == NOBODY


def test_a_compressed_body_is_known_by_its_first_byte() -> None:
    """Apache's own broker, told to compress, says that it did not; its name server then refuses every registration."""
    desk = Desk()
    assert desk.ask(REGISTER, broker(), compressed_table(*TOPICS, counter=1)).code == ResponseCode.SUCCESS
    assert desk.ask(ROUTE, {"topic": "orders"}).code == ResponseCode.SUCCESS


def test_a_single_topic_of_an_unknown_broker_leaves_nothing_behind() -> None:
    """Apache lists the broker from then on, without an address, and nothing removes it."""
    desk = Desk()
    assert desk.ask(REGISTER, broker(), table(topic("one"))).remark == "register broker failed"
    assert clusters(desk) == NOBODY


def test_every_broker_of_a_connection_goes_with_it() -> None:
    """Apache drops one of them; the others stay until they are silent for too long."""
    desk = Desk()
    desk.ask(REGISTER, broker(), table(*TOPICS), connection=7)
    desk.ask(REGISTER, broker("broker-b", 50911), table(*TOPICS), connection=7)
    desk.liveness.connection_closed(7, "peer")
    assert clusters(desk) == NOBODY
    assert {gone.broker_name for gone, _ in desk.gone} == {"broker-a", "broker-b"}


def test_unregistering_under_a_wrong_name_changes_nothing() -> None:
    """Apache forgets that the broker is alive but not the broker, which is then listed for ever."""
    desk = Desk()
    desk.ask(REGISTER, broker(), table(*TOPICS))
    before = clusters(desk)
    desk.ask(UNREGISTER, broker("broker-b"))
    assert clusters(desk) == before
    desk.wait(131_000)
    assert clusters(desk) == NOBODY


def test_an_outranked_registration_changes_nothing() -> None:
    """Apache takes the flag for acting masters from it, and refuses the rest."""
    desk = Desk()
    desk.ask(REGISTER, broker(enableActingMaster="true"), table(*TOPICS, state=1))
    before = clusters(desk)
    desk.ask(REGISTER, broker(port=40911, enableActingMaster="false"), table(*TOPICS, state=0), connection=2)
    assert clusters(desk) == before


def test_a_broker_that_changes_its_cluster_leaves_the_old_one() -> None:
    """Apache lists it in both, and as a broker of the first."""
    desk = Desk()
    desk.ask(REGISTER, broker(), table(*TOPICS))
    desk.ask(REGISTER, broker(clusterName="C2"), table(*TOPICS))
    assert set(desk.routes.clusters) == {"C2"}
    assert desk.routes.brokers["broker-a"].cluster == "C2"


def test_a_broker_that_lost_its_seat_is_not_alive() -> None:
    """Apache keeps it among the living until it is silent for too long."""
    desk = Desk()
    desk.ask(REGISTER, broker(), table(*TOPICS))
    desk.ask(REGISTER, broker(port=40911), table(*TOPICS, state=1), connection=2)
    assert set(desk.routes.live) == {"127.0.0.1:40911"}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"listenPort=1", ResponseCode.NO_PERMISSION),
        (b"enableTopicList=perhaps", ResponseCode.INVALID_PARAMETER),
        (b"waitSecondsForService=-1", ResponseCode.INVALID_PARAMETER),
        (b"no line of a file", ResponseCode.INVALID_PARAMETER),
    ],
)
def test_a_setting_that_would_not_be_heeded_is_refused(line: bytes, code: int) -> None:
    """Apache answers that all is well."""
    desk = Desk()
    before = desk.context.config
    answer = desk.ask(CHANGE_SETTINGS, body=b"orderMessageEnable=true\n" + line)
    assert answer.code == code
    assert desk.context.config == before


def test_a_route_that_is_registered_must_be_one() -> None:
    desk = Desk()
    answer = desk.ask(217, {"topic": "orders"}, json.dumps({"queueDatas": 3}).encode())
    assert answer.code == ResponseCode.SYSTEM_ERROR
