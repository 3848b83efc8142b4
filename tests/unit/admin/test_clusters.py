"""What is shown of brokers that tell little, or nothing."""

from collections.abc import Collection, Iterable

from escrowmq.admin import clusters
from escrowmq.admin.client import SUCCESS, Admin, Outcome
from escrowmq.errors import NotReachable, Refused
from escrowmq.model.route import BrokerData
from escrowmq.protocol.bodies.cluster_info import ClusterInfo
from escrowmq.protocol.question import Question


class Told(Admin):
    """Knows two brokers: one does not know the question, one does not answer."""

    def cluster_info(self) -> ClusterInfo:
        brokers = {
            name: BrokerData({0: f"{name}:10911"}, name, "main", may_act_as_master=False) for name in ("old", "gone")
        }
        return ClusterInfo(brokers, {"main": list(brokers)})

    def ask_all(
        self, questions: Iterable[tuple[str, Question]], *, accepted: Collection[int] = SUCCESS
    ) -> list[Outcome]:
        assert accepted is SUCCESS
        outcomes: dict[str, Outcome] = {
            "old:10911": Refused("not supported", address="old:10911", code=3, remark=""),
            "gone:10911": NotReachable("gone:10911 can't be reached", address="gone:10911"),
        }
        return [outcomes[address] for address, _ in questions]


def test_a_broker_that_does_not_tell_is_listed_all_the_same() -> None:
    with Told(["127.0.0.1:1"]) as admin:
        gone, old = clusters.list_brokers(admin)
    assert (gone.broker, gone.problem) == ("gone", "gone:10911 can't be reached")
    assert (old.broker, old.address, old.problem) == ("old", "old:10911", None)
    assert (old.version, old.messages_in_per_s, old.messages_out_per_s, old.disk_used_ratio) == (None,) * 4
