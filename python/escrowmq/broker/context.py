"""What the handlers of the broker work on."""

from collections.abc import Callable
from dataclasses import dataclass, field

from escrowmq.broker.client_registry import ClientRegistry
from escrowmq.broker.locks import QueueLocks
from escrowmq.broker.ports import MessageStore, OffsetTable
from escrowmq.broker.subscriptions import SubscriptionGroups
from escrowmq.broker.topics import Topics


@dataclass
class Context:
    """Tables, a name and a clock. Only one thread uses it."""

    broker_name: str
    topics: Topics
    groups: SubscriptionGroups
    clients: ClientRegistry
    locks: QueueLocks
    offsets: OffsetTable
    store: MessageStore
    now_ms: Callable[[], int]
    # Consumer groups whose members have to be told that the group has changed, when the batch is answered.
    groups_to_tell: set[str] = field(default_factory=set)
