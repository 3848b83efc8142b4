"""The topics of transactions, and the group under which an Apache broker keeps how far it has looked."""

from typing import Final

HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
DISCARD_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
AUDIT_TOPIC: Final = "rmq_sys_escrowmq_audit"

HALF_QUEUE_ID: Final = 0
PROGRESS_GROUP: Final = "CID_RMQ_SYS_TRANS"
