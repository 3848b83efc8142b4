"""Apache's own integration tests, with Apache's Java client, against our name server and three of our brokers."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.cluster import Cluster, running_cluster
from tests.interop.installation import Installation
from tests.interop.integration_classes import BY_PACKAGE, NOT_YET, SHORT
from tests.interop.java_process import ApacheError, log_tail, run_program

# A test of Apache's waits two minutes for its messages; a class has up to a dozen tests and names the one that hangs.
CLASS_DEADLINE_S = 480
JAVA_START_S = 60

CLASS_NAMES = [name for names in BY_PACKAGE.values() for name in names]


def parameters() -> list[object]:
    """Every class with its marks."""
    return [
        pytest.param(f"{package}.{name}", id=name, marks=list(marks(name)))
        for package, names in BY_PACKAGE.items()
        for name in names
    ]


def marks(name: str) -> Iterator[pytest.MarkDecorator]:
    if name in SHORT:
        yield pytest.mark.short
    if name in NOT_YET:
        yield pytest.mark.xfail(reason=f"our broker lacks {NOT_YET[name]}", run=False)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One cluster for all classes, which has to end in good order after them."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as servers:
        yield servers
        assert servers.stop() == [0, 0, 0, 0]


@pytest.mark.timeout(CLASS_DEADLINE_S + 2 * JAVA_START_S, func_only=True)
@pytest.mark.parametrize("class_name", parameters())
def test_apaches_integration_test_passes(
    class_name: str, cluster: Cluster, installation: Installation, tmp_path: Path
) -> None:
    try:
        rows = run_program(
            installation,
            "RunTests",
            [f"org.apache.rocketmq.test.{class_name}", str(CLASS_DEADLINE_S)],
            home=tmp_path,
            heap="512m",
            definitions=[f"interop.namesrv={cluster.name_server.address}"],
            deadline_s=CLASS_DEADLINE_S + JAVA_START_S,
        )
        for row in rows:
            print(f"{row['outcome']:8} {row['seconds']:6.1f} s  {row['test']}")
        failed = [row for row in rows if row["outcome"] == "failed"]
        assert rows, "the class has no tests"
        assert not failed, "\n".join(f"{row['test']}\n{row['trace']}" for row in failed)
    except (ApacheError, AssertionError) as error:
        error.add_note(log_tail(tmp_path))
        error.add_note(log_tail(cluster.folder))
        raise


@pytest.mark.short
def test_marks_name_classes_of_the_list() -> None:
    """A class whose name is misspelt would silently run, or silently not run."""
    assert [name for name, count in Counter(CLASS_NAMES).items() if count > 1] == []
    assert {*NOT_YET, *SHORT} <= {*CLASS_NAMES}
    assert not SHORT & NOT_YET.keys()
