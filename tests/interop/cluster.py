"""Our name server and three of our brokers as processes, for clients that look for a cluster."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.compat.broker_process import ServerProcess
from tests.compat.name_server_process import NameServerProcess, RawClient, await_value
from tests.golden.name_server_conversation import CLUSTERS
from tests.unit.namesrv.desk import fastjson_value

CLUSTER_NAME = "DefaultCluster"
BROKER_NAMES = ("broker-a", "broker-b", "broker-c")


@dataclass(frozen=True)
class Cluster:
    """Four processes that are up and know each other; each logs to a file in `folder`."""

    folder: Path
    name_server: NameServerProcess
    brokers: Sequence[ServerProcess]

    def stop(self) -> list[int]:
        """Ends all of them in good order, the name server last; the exit codes."""
        return [*(broker.stop() for broker in self.brokers), self.name_server.stop()]


@contextlib.contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that keeps its data in a folder; its processes are gone when the block ends."""
    with contextlib.ExitStack() as stack:
        name_server = stack.enter_context(NameServerProcess(folder / "namesrv"))
        options = ("--port=0", f"--namesrv={name_server.address}")
        brokers = [
            stack.enter_context(ServerProcess("broker", folder / name, f"--name={name}", *options))
            for name in BROKER_NAMES
        ]
        with RawClient(name_server.host_and_port) as client:
            await_value(lambda: _members(client), {CLUSTER_NAME: {*BROKER_NAMES}})
        yield Cluster(folder, name_server, brokers)


def _members(client: RawClient) -> dict[str, set[str]]:
    """The brokers of each cluster that the name server knows."""
    known = fastjson_value(bytes(client.ask(CLUSTERS).body))
    return {cluster: {*names} for cluster, names in known["clusterAddrTable"].items()}
