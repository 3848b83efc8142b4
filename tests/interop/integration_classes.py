"""Which of Apache's integration tests run against our servers: those that need nothing but a cluster to talk to."""

from collections.abc import Mapping, Sequence

BY_PACKAGE: Mapping[str, Sequence[str]] = {
    "client.consumer.balance": ("NormalMsgDynamicBalanceIT", "NormalMsgStaticBalanceIT"),
    "client.consumer.broadcast.normal": (
        "BroadcastNormalMsgNotReceiveIT",
        "BroadcastNormalMsgRecvCrashIT",
        "BroadcastNormalMsgRecvFailIT",
        "BroadcastNormalMsgRecvStartLaterIT",
        "BroadcastNormalMsgTwoDiffGroupRecvIT",
        "NormalMsgTwoSameGroupConsumerIT",
    ),
    "client.consumer.broadcast.order": ("OrderMsgBroadcastIT",),
    "client.consumer.broadcast.tag": (
        "BroadcastTwoConsumerFilterIT",
        "BroadcastTwoConsumerSubDiffTagIT",
        "BroadcastTwoConsumerSubTagIT",
    ),
    "client.consumer.cluster": ("DynamicAddAndCrashIT", "DynamicAddConsumerIT", "DynamicCrashConsumerIT"),
    "client.consumer.filter": ("SqlFilterIT",),
    "client.consumer.tag": (
        "MulTagSubIT",
        "TagMessageWith1ConsumerIT",
        "TagMessageWithMulConsumerIT",
        "TagMessageWithSameGroupConsumerIT",
    ),
    "client.consumer.topic": ("MulConsumerMulTopicIT", "OneConsumerMulTopicIT"),
    "client.producer.async": (
        "AsyncSendExceptionIT",
        "AsyncSendWithMessageQueueIT",
        "AsyncSendWithMessageQueueSelectorIT",
        "AsyncSendWithOnlySendCallBackIT",
    ),
    "client.producer.exception.msg": ("ChinaPropIT", "MessageExceptionIT", "MessageUserPropIT"),
    "client.producer.exception.producer": ("ProducerGroupAndInstanceNameValidityIT",),
    "client.producer.oneway": (
        "OneWaySendExceptionIT",
        "OneWaySendIT",
        "OneWaySendWithMQIT",
        "OneWaySendWithSelectorIT",
    ),
    "client.producer.order": ("OrderMsgDynamicRebalanceIT", "OrderMsgIT", "OrderMsgRebalanceIT", "OrderMsgWithTagIT"),
    "client.producer.querymsg": ("QueryMsgByIdExceptionIT", "QueryMsgByIdIT", "QueryMsgByKeyIT"),
    "client.producer.transaction": ("TransactionalMsgIT",),
    "delay": ("NormalMsgDelayIT",),
}

# What our broker lacks. A line goes when the class passes; `pytest --runxfail` tries these too.
NOT_YET: Mapping[str, str] = {}

# What CI runs in five minutes: each way to send, to filter, to keep order, to share queues and to lose a member.
SHORT = frozenset(
    {
        "AsyncSendExceptionIT",
        "AsyncSendWithMessageQueueSelectorIT",
        "AsyncSendWithOnlySendCallBackIT",
        "BroadcastNormalMsgNotReceiveIT",
        "BroadcastNormalMsgRecvCrashIT",
        "BroadcastTwoConsumerFilterIT",
        "ChinaPropIT",
        "DynamicAddAndCrashIT",
        "DynamicCrashConsumerIT",
        "MessageUserPropIT",
        "MulTagSubIT",
        "NormalMsgDynamicBalanceIT",
        "OneWaySendExceptionIT",
        "OneWaySendIT",
        "OneWaySendWithSelectorIT",
        "OrderMsgBroadcastIT",
        "OrderMsgDynamicRebalanceIT",
        "OrderMsgIT",
        "OrderMsgRebalanceIT",
        "OrderMsgWithTagIT",
        "ProducerGroupAndInstanceNameValidityIT",
        "TagMessageWithMulConsumerIT",
    }
)
