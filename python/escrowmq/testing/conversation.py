"""One question to a server and its answer, over a socket of its own: what the fixture asks for, it asks as a client."""

import socket
from typing import Final

from escrowmq import _core
from escrowmq.errors import TransportError
from escrowmq.protocol.response_codes import ResponseCode

TIMEOUT_S: Final = 10.0
RECEIVED_MAX_BYTES: Final = 65_536


def ask(address: str, request: _core.Frame) -> _core.Frame:
    """Sends a request, and returns its answer.

    Raises:
        ValueError: The server refuses it.
        TransportError: The server closes the connection instead of answering.
        OSError: It is not there, or does not answer in time.
    """
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S) as connection:
        connection.sendall(_core.encode_frames([request]))
        received = b""
        while True:
            frames, _ = _core.decode_frames(received)
            if frames:
                return _checked(frames[0])
            more = connection.recv(RECEIVED_MAX_BYTES)
            if not more:
                raise TransportError(f"{address} closes the connection instead of answering")
            received += more


def _checked(answer: _core.Frame) -> _core.Frame:
    if answer.code != ResponseCode.SUCCESS:
        raise ValueError(f"refused with code {answer.code}: {answer.remark}")
    return answer
