"""How the version of a broker's table goes on."""

from escrowmq.model.data_version import DataVersion


def next_version(version: DataVersion, *, now_ms: int) -> DataVersion:
    """The version after a change at that time."""
    return DataVersion(counter=version.counter + 1, state_version=version.state_version, timestamp_ms=now_ms)
