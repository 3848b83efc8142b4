"""A producer and a consumer of one broker that is killed again and again, and what they were told.

The producer sends messages for now, for a delay level and for a time of their own. The consumer gives every third one
back, and commits offsets only behind what it has consumed. Whatever was in flight when the broker was killed counts as
unknown: it may be there or not.
"""

import random
from dataclasses import dataclass, field

from tests.compat.broker_process import Client
from tests.compat.timed import QUEUES, TOPIC, Ledger

from escrowmq import Frame, Record, decode_records
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

GROUP = "workers"
TASKS, LATER = "tasks", "later"
RETRIES, DEAD_LETTERS = f"%RETRY%{GROUP}", f"%DLQ%{GROUP}"
LEVELS = (1, 2, 3)
TIMERS_MS = (1, 250, 700, 1_500)
GIVEN_BACK_ONE_IN = 3


@dataclass
class Workload:
    """What producer and consumer know, through all lives of the broker."""

    chance: random.Random
    next_number: int = 0
    # What the broker has acknowledged: delayed messages, and messages that were given back.
    postponed: set[str] = field(default_factory=set)
    given_back: set[str] = field(default_factory=set)
    timers: Ledger = field(default_factory=Ledger)
    # By topic, the queue offset behind the last message that was consumed.
    consumed: dict[str, int] = field(default_factory=lambda: {TASKS: 0, RETRIES: 0})

    def work(self, client: Client) -> None:
        """Works until the broker is gone."""
        acts = (self._send, self._postpone, self._postpone, self._set_timer, self._consume)
        while True:
            self.chance.choice(acts)(client)

    def _send(self, client: Client) -> None:
        self._ask_to_send(client, TASKS, 0)

    def _postpone(self, client: Client) -> None:
        self.postponed.add(self._ask_to_send(client, LATER, self.chance.choice(LEVELS)))

    def _set_timer(self, client: Client) -> None:
        self.next_number += 1
        self.timers.send(client, f"timer-{self.next_number}", self.chance.choice(TIMERS_MS))

    def _ask_to_send(self, client: Client, topic: str, level: int) -> str:
        self.next_number += 1
        key = f"{topic}-{self.next_number}"
        delay = f"DELAY\x01{level}\x02" if level else ""
        fields = {
            "a": "producers",
            "b": topic,
            "c": "TBW102",
            "d": "4",
            "e": "0",
            "f": "0",
            "g": "1700000000000",
            "h": "0",
            "i": f"UNIQ_KEY\x01{key}\x02{delay}",
            "j": "0",
            "k": "false",
            "m": "false",
        }
        answer = client.ask(RequestCode.SEND_MESSAGE_V2, fields, key.encode())
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        return key

    def _consume(self, client: Client) -> None:
        topic = self.chance.choice((TASKS, RETRIES))
        for record in pull(client, topic, self.consumed[topic]):
            if self.chance.randrange(GIVEN_BACK_ONE_IN) == 0:
                self._give_back(client, record)
            self.consumed[topic] = record.queue_offset + 1
        fields = {
            "consumerGroup": GROUP,
            "topic": topic,
            "queueId": "0",
            "commitOffset": str(self.consumed[topic]),
        }
        client.ask(RequestCode.UPDATE_CONSUMER_OFFSET, fields)

    def _give_back(self, client: Client, record: Record) -> None:
        fields = {
            "offset": str(record.log_offset),
            "group": GROUP,
            "delayLevel": str(self.chance.choice((-1, 1, 1, 2))),
            "unitMode": "false",
            "maxReconsumeTimes": "3",
        }
        answer = client.ask(RequestCode.CONSUMER_SEND_MSG_BACK, fields)
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        self.given_back.add(f"{record.unique_id} {record.reconsume_times + 1}")

    def committed_in_vain(self, client: Client) -> dict[str, int]:
        """By topic, how far the broker's offset is ahead of what was consumed; empty unless it is."""
        ahead = {}
        for topic, consumed in self.consumed.items():
            fields = {"consumerGroup": GROUP, "topic": topic, "queueId": "0", "setZeroIfNotFound": "false"}
            answer = client.ask(RequestCode.QUERY_CONSUMER_OFFSET, fields)
            if answer.code == ResponseCode.SUCCESS and int(answer.ext_fields["offset"]) > consumed:
                ahead[topic] = int(answer.ext_fields["offset"]) - consumed
        return ahead

    def timers_missing(self, client: Client) -> bool:
        """Whether a timer that the broker has acknowledged did not come yet."""
        arrived: set[str | None] = set()
        for queue_id in range(QUEUES):
            offset = 0
            while records := pull(client, TOPIC, offset, queue_id):
                arrived.update(record.unique_id for record in records)
                offset = records[-1].queue_offset + 1
        return not self.timers.acknowledged <= arrived


def pull(client: Client, topic: str, offset: int, queue_id: int = 0) -> list[Record]:
    """Messages of a queue from an offset on, up to 32."""
    fields = {
        "consumerGroup": GROUP,
        "topic": topic,
        "queueId": str(queue_id),
        "queueOffset": str(offset),
        "maxMsgNums": "32",
        "sysFlag": "4",
        "commitOffset": "0",
        "suspendTimeoutMillis": "0",
        "subscription": "*",
        "subVersion": "0",
        "expressionType": "TAG",
    }
    answer: Frame = client.ask(RequestCode.PULL_MESSAGE, fields)
    return decode_records(answer.body) if answer.code == ResponseCode.SUCCESS else []
