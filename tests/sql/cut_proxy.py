"""A proxy before a PostgreSQL that loses the reply to a COMMIT: the server has done it, and nobody hears."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK = 65_536


class CutProxy:
    """Passes bytes on, until a client says COMMIT after `arm`: then the reply is swallowed, and the connection ends."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._is_armed = False
        self.cuts = 0
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def arm(self) -> None:
        """Has the next COMMIT cut."""
        self._is_armed = True

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(client,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server:
            is_cut = threading.Event()

            def replies() -> None:
                with contextlib.suppress(OSError):
                    while data := server.recv(_CHUNK):
                        if is_cut.is_set():
                            self.cuts += 1
                            break
                        client.sendall(data)
                    client.shutdown(socket.SHUT_RDWR)

            thread = threading.Thread(target=replies)
            thread.start()
            with contextlib.suppress(OSError):
                while data := client.recv(_CHUNK):
                    if self._is_armed and b"COMMIT" in data:
                        self._is_armed = False
                        is_cut.set()
                    server.sendall(data)
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join()

    def close(self) -> None:
        """Ends with its connections, which clients have closed by then."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
