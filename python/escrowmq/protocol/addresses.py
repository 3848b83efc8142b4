"""Where a server is, by the numbers that a socket needs."""

import socket

from escrowmq.errors import NotReachable


def look_up(address: str) -> str:
    """The address with its name looked up, where it has one. May take long.

    Raises:
        NotReachable: There is no such name.
    """
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotReachable(f"{address} is nowhere: {error.strerror}", address=address) from error
    # Where a name has both, servers are more often at the older kind, and this asks for one only.
    numeric = str(min(found, key=lambda entry: entry[0] != socket.AF_INET)[4][0])
    return f"[{numeric}]:{port}" if ":" in numeric else f"{numeric}:{port}"
