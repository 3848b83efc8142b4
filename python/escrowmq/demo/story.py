"""What happens in the demonstration: a broker takes messages and gives them out, is killed in the middle, and is back.

start ─▶ rounds of sends and pulls ─▶ a burst, and SIGKILL while it is answered ─▶ start ─▶ rounds ─▶ compare
"""

import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from escrowmq._core import Server
from escrowmq.demo.client import Client, find_broker
from escrowmq.demo.screen import Screen
from escrowmq.demo.tally import QUEUES, QUEUES_PER_TOPIC, Tally, numbered
from escrowmq.demo.up_process import UpProcess
from escrowmq.errors import ListenFailed

ROUNDS: Final = 30
MESSAGES_PER_ROUND: Final = 4 * len(QUEUES)
BURST: Final = 200 * len(QUEUES)

DEFAULT_PORTS: Final = (9_876, 10_909, 10_911)
ANY_PORTS: Final = ("--port=0", "--namesrv-port=0")


class Story:
    """One run; `up` is the broker that runs at the time. Use it as a context manager, which stops that."""

    def __init__(self, data: Path, screen: Screen, *, pause_s: float, has_default_ports: bool) -> None:
        """Starts the broker.

        Raises:
            NotStarted: It does not listen.
        """
        self._screen = screen
        self._pause_s = pause_s
        self._tally = Tally()
        self.up = UpProcess(data, () if has_default_ports and are_default_ports_free() else ANY_PORTS)
        screen.started(self.up, "ready")
        screen.listens(self.up, data)

    def tell(self) -> bool:
        """Runs it to its end, and returns whether everything is as it should be.

        Raises:
            NotStarted: The broker does not come back.
        """
        with self._screen.showing(self._tally):
            with Client(find_broker(self.up.name_server)) as client:
                # The first messages make their topics; whatever is sent before they are made could overtake them.
                self._round(client, len(QUEUES))
                self._rounds(client)
                self._screen.took(self.up, self._tally)
                self._kill_in_a_burst(client)
            self.up = self.up.start_again()
            self._screen.started(self.up, "back")
            with Client(find_broker(self.up.name_server)) as client:
                self._rounds(client)
                self._read_all(client)
        self._screen.compared(self._tally)
        return self._tally.is_whole()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.up.stop()

    def _rounds(self, client: Client) -> None:
        for _ in range(ROUNDS):
            self._round(client, MESSAGES_PER_ROUND)
            time.sleep(self._pause_s)

    def _round(self, client: Client, count: int) -> None:
        numbers = self._tally.take_next(count)
        self._enter_answers(client, numbers, self._send(client, numbers))
        self._read(client)

    def _kill_in_a_burst(self, client: Client) -> None:
        """Kills it while it answers the first of many sends, and the last have only just left."""
        numbers = self._tally.take_next(BURST)
        requests = self._send(client, numbers)
        self.up.kill()
        self._enter_answers(client, numbers, requests)
        self._screen.killed(self._tally)

    def _send(self, client: Client, numbers: range) -> list[int]:
        return client.begin_sends([numbered(number) for number in numbers], queues=QUEUES_PER_TOPIC)

    def _enter_answers(self, client: Client, numbers: range, requests: list[int]) -> None:
        answers = zip(numbers, client.acknowledged(requests), strict=True)
        self._tally.acknowledged.update(number for number, is_stored in answers if is_stored)

    def _read(self, client: Client) -> bool:
        """Reads on in all queues; whether there was anything."""
        wanted = [(*queue, len(self._tally.read[queue])) for queue in QUEUES]
        found = client.pull(wanted)
        for queue, records in zip(QUEUES, found, strict=True):
            self._tally.enter_read(queue, ((record.properties["KEYS"], bytes(record.body)) for record in records))
        self._screen.refresh()
        return any(found)

    def _read_all(self, client: Client) -> None:
        while self._read(client):
            pass


def are_default_ports_free() -> bool:
    """Whether a broker without configuration could listen."""
    try:
        Server.start([f"127.0.0.1:{port}" for port in DEFAULT_PORTS]).close()
    except ListenFailed:
        return False
    return True
