"""The topics of transactions, and the group under which an Apache broker keeps how far it has looked."""

from typing import Final

from escrowmq.model import names

HALF_TOPIC: Final = names.HALF_TOPIC
OP_TOPIC: Final = names.OP_TOPIC
DISCARD_TOPIC: Final = names.DISCARD_TOPIC
AUDIT_TOPIC: Final = "rmq_sys_escrowmq_audit"

HALF_QUEUE_ID: Final = 0
PROGRESS_GROUP: Final = "CID_RMQ_SYS_TRANS"
