"""What was asked of Apache's broker about messages for later is asked of ours, and the answers are equal."""

import select
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.golden.later_conversation import DELAY_LEVELS, Conversation, Exchange, all_told, hold
from tests.golden.recordings import rows
from tests.unit.server.peer import Peer

from escrowmq import Clock, Frame, decode_frames
from escrowmq.broker.app import Broker
from escrowmq.broker_config import BrokerConfig, StoreConfig

# Parts of answers in which we differ: words for people, where Apache's are those of its code or of another error; and
# the flag of a topic for units, which our pulls do not tell.
DIFFERENT = {
    "send batch to delays 'DELAY\\x011\\x02' {'m': 'true'}": "remark",
    "give back one to billing at 0 {'offset': '5'} 513": "remark",
    "give back one to billing at 0 {'offset': None} 513": "remark",
    "give back one to billing at 0 {'delayLevel': None} 513": "remark",
    "pull %RETRY%units 0": "fields",
}


CONFIG = BrokerConfig(name="broker-a", port=0, delay_levels=DELAY_LEVELS)


class OurBroker:
    """Our broker on the test's own thread, with a client and a clock."""

    def __init__(self, broker: Broker, clock: Clock, peer: Peer) -> None:
        self._broker = broker
        self._clock = clock
        self._peer = peer
        self._opaque = 0

    def ask(self, code: int, fields: Mapping[str, str], body: bytes, version: int) -> Frame:
        self._opaque += 1
        self._peer.send(
            Frame(code, language="JAVA", version=version, opaque=self._opaque, ext_fields=fields, body=body or None)
        )
        while True:
            self._broker.step()
            wanted = [self._peer.socket.fileno(), self._broker.fileno()]
            ready, _, _ = select.select(wanted, [], [], self._broker.wait_ms() / 1_000)
            if self._peer.socket.fileno() in ready:
                (answer,) = self._peer.receive()
                return answer

    def pass_time(self, time_ms: int) -> None:
        self._clock.advance(time_ms)


@contextmanager
def our_broker(folder: Path, config: BrokerConfig = CONFIG) -> Iterator[OurBroker]:
    clock = Clock()
    store = StoreConfig(
        segment_size_bytes=1 << 20,
        queue_file_entries=1_000,
        index_slots=100,
        index_entries=1_000,
        disk_clean_ratio=1.0,
        disk_force_ratio=1.0,
        disk_refuse_ratio=1.0,
    )
    with Broker(config, store, data=folder, clock=clock) as broker, Peer(broker.addresses[0]) as peer:
        yield OurBroker(broker, clock, peer)


def recorded() -> Conversation:
    """What Apache's broker said about messages for later."""
    return recording("later-conversation.jsonl.gz")


def recording(name: str) -> Conversation:
    """What Apache's broker said in a conversation."""
    *said, last = rows(name)
    exchanges = []
    for row in said:
        (frame,), _ = decode_frames(bytes.fromhex(row["frame"]))
        exchanges.append(Exchange(row["question"], frame))

    class Nobody:
        """A recording can't be asked."""

        def ask(self, *_: object) -> Frame:
            raise NotImplementedError

        def pass_time(self, *_: object) -> None:
            raise NotImplementedError

    return Conversation(Nobody(), exchanges, last["log_offsets"])


def test_delays_retries_and_dead_letters_are_answered_and_stored_as_apaches_broker_did(tmp_path: Path) -> None:
    with our_broker(tmp_path) as broker:
        ours = all_told(hold(broker))
    theirs = all_told(recorded())
    assert [said["question"] for said in ours] == [said["question"] for said in theirs]
    for our, their in zip(ours, theirs, strict=True):
        different = {name for name in their if our[name] != their[name]}
        assert different == {DIFFERENT[our["question"]]} if our["question"] in DIFFERENT else our == their
    assert len(theirs) == 76
