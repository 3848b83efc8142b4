"""Groups and topics that a batch of requests makes: files are written once, and who asked is told what went wrong."""

import json

from tests.unit.broker.desk import Desk, TestRequest, heartbeat, send

from escrowmq.broker import processors
from escrowmq.broker.client_registry import CONSUMER_GROUPS_MAX
from escrowmq.broker.outcome import RETRY
from escrowmq.protocol.bodies.heartbeat import SUBSCRIPTIONS_SIZE_MAX
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.response_codes import ResponseCode

HEART_BEAT, SEND, GROUP = 34, 310, 352


def of_groups(*groups: str, client_id: str = "10.0.0.1@12345#67890", **more: object) -> bytes:
    """The body of a heartbeat with consumers of groups."""
    consumers = [{"groupName": group, "subscriptionDataSet": [], **more} for group in groups]
    return json.dumps({"clientID": client_id, "consumerDataSet": consumers}).encode()


def test_one_heartbeat_writes_each_file_once() -> None:
    desk = Desk()
    groups = [f"g{number}" for number in range(CONSUMER_GROUPS_MAX)]
    assert desk.ask(HEART_BEAT, body=of_groups(*groups)).code == ResponseCode.SUCCESS
    assert (desk.groups_file.saves, desk.topics_file.saves) == (1, 1)
    assert desk.groups_file.value["subscriptionGroupTable"].keys() >= set(groups)
    assert desk.topics_file.value["topicConfigTable"].keys() >= {f"%RETRY%{group}" for group in groups}
    assert len(desk.context.clients.consumer_groups) == len(groups)
    desk.ask(HEART_BEAT, body=of_groups(*groups))
    assert (desk.groups_file.saves, desk.topics_file.saves) == (1, 1)


def test_one_batch_writes_each_file_once_whatever_its_requests_make() -> None:
    desk = Desk()
    requests = []
    for number in range(20):
        requests += [
            TestRequest(HEART_BEAT, body=heartbeat(group=f"beats{number}"), connection=number),
            TestRequest(SEND, send(f"sent{number}"), b"body"),
            TestRequest(SEND, send(f"%RETRY%tries{number}"), b"body"),
            TestRequest(GROUP, {"group": f"shown{number}"}),
        ]
    outcomes = [outcome for _, outcome in processors.process(desk.context, requests)]
    assert (desk.groups_file.saves, desk.topics_file.saves) == (1, 1)
    assert outcomes[1] == RETRY
    assert [outcome.code for outcome in outcomes if isinstance(outcome, Answer)] == [ResponseCode.SUCCESS] * 40
    assert {"beats19", "tries19", "shown19"} <= desk.context.groups.table.keys()
    assert {"%RETRY%beats19", "%RETRY%tries19", "sent19"} <= desk.context.topics.table.keys()


def test_what_can_not_be_saved_is_told_to_whoever_asked_for_it_and_to_nobody_else() -> None:
    desk = Desk()
    desk.ask(HEART_BEAT, body=heartbeat())
    desk.groups_file.is_full = True
    requests = [TestRequest(HEART_BEAT, body=heartbeat(group=group)) for group in ("billing", "new")]
    codes = [getattr(outcome, "code", None) for _, outcome in processors.process(desk.context, requests)]
    assert codes == [ResponseCode.SUCCESS, ResponseCode.SYSTEM_ERROR]
    assert desk.context.groups.find("new") is None


def test_a_heartbeat_that_says_more_than_a_broker_keeps_is_refused_and_nothing_is_kept() -> None:
    desk = Desk()
    long = "n" * 256
    of_topics = [{"topic": f"t{number}", "subString": "*"} for number in range(SUBSCRIPTIONS_SIZE_MAX // 64)]
    refused = [
        of_groups(*(f"g{number}" for number in range(CONSUMER_GROUPS_MAX + 1))),
        of_groups(long),
        of_groups("billing", client_id=long),
        of_groups("billing", consumeType=long),
        of_groups("billing", subscriptionDataSet=[{"topic": long}]),
        of_groups("billing", subscriptionDataSet=[{"topic": "t", "subString": "x" * SUBSCRIPTIONS_SIZE_MAX}]),
        of_groups("billing", subscriptionDataSet=[{"topic": "t", "codeSet": [1] * SUBSCRIPTIONS_SIZE_MAX}]),
        of_groups("billing", subscriptionDataSet=of_topics),
        json.dumps({"clientID": "c", "producerDataSet": [{"groupName": long}]}).encode(),
    ]
    for body in refused:
        assert desk.ask(HEART_BEAT, body=body).code == ResponseCode.SYSTEM_ERROR
    assert (desk.groups_file.saves, desk.topics_file.saves) == (0, 0)
    assert not desk.context.clients.consumer_groups
    assert desk.context.clients.all_producers() == []


def test_a_connection_is_a_member_of_so_many_groups_and_no_more() -> None:
    desk = Desk()
    desk.ask(HEART_BEAT, body=of_groups(*(f"g{number}" for number in range(CONSUMER_GROUPS_MAX))))
    desk.ask(HEART_BEAT, body=of_groups("further"))
    assert len(desk.context.clients.consumer_groups) == CONSUMER_GROUPS_MAX
    desk.ask(HEART_BEAT, body=of_groups("further"), connection=2)
    assert desk.context.clients.consumer_group("further") is not None
