"""Each command of mqadmin tells the same of our broker as of Apache's, with the same data and the same clients."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pytest
from tests.interop.installation import Installation
from tests.interop.mqadmin import apaches, ours
from tests.interop.mqadmin_facts import settings, without

pytestmark = pytest.mark.timeout(1200)

Told: TypeAlias = list[tuple[list[str], list[str]]]
"""What each command tells of Apache's broker, and of ours."""

# In this order: what one command changes, the next ones show.
COMMANDS = (
    "clusterList",
    "clusterList -m",
    "brokerStatus -b {broker}",
    "topicList",
    "topicList -c",
    "topicClusterList -t orders",
    "topicRoute -t orders",
    "topicRoute -t orders -l",
    "topicStatus -t orders",
    "updateTopic -b {broker} -t fresh -r 3 -w 3 -p 6",
    "topicStatus -t fresh",
    "updateTopic -c DefaultCluster -t fresh -r 5 -w 4 -p 4",
    "topicRoute -t fresh",
    "deleteTopic -c DefaultCluster -t fresh",
    "topicStatus -t fresh",
    "updateSubGroup -b {broker} -g auditors -q 2 -r 5",
    "getConsumerConfig -g auditors",
    "deleteSubGroup -b {broker} -g auditors",
    "consumerProgress -g live-consumers",
    "consumerProgress -g nobody",
    "consumerProgress",
    "consumerConnection -g live-consumers",
    "consumerConnection -g nobody",
    "producerConnection -g live-producers -t orders",
    "producerConnection -g nobody -t orders",
    "consumerStatus -g live-consumers",
    "consumerStatus -g live-consumers -i {client}",
    "consumerStatus -g live-consumers -i nobody",
    "queryMsgById -t orders -i {id}",
    "queryMsgById -t orders -i {id} -g live-consumers -d {client}",
    "queryMsgByKey -t orders -k key-3",
    "queryMsgByKey -t orders -k none",
    "queryMsgByUniqueKey -t orders -i {unique}",
    "queryMsgByOffset -t orders -b broker-a -i 1 -o 2",
    "printMsg -t orders -s third -d true",
    "resetOffsetByTime -g live-consumers -t orders -s -1",
    "skipAccumulatedMessage -g live-consumers -t orders",
    "updateSubGroup -c DefaultCluster -g cloned",
    "updateTopic -b {broker} -t %RETRY%cloned -r 1 -w 1",
    "cloneGroupOffset -s live-consumers -d cloned -t orders -o true",
    "consumerProgress -g cloned",
    "resetOffsetByTime -g cloned -t orders -s 0",
    "consumerProgress -g cloned -s true",
    "skipAccumulatedMessage -g cloned -t orders",
    "consumerProgress -g cloned -t orders",
    "getBrokerConfig -b {broker}",
    "updateBrokerConfig -b {broker} -k flushConsumerOffsetInterval -v 4000",
    "updateBrokerConfig -b {broker} -k brokerConfigPath -v /elsewhere",
    "getNamesrvConfig",
    "wipeWritePerm -b broker-a",
    "topicRoute -t orders",
    "addWritePerm -b broker-a",
    "topicRoute -t orders -l",
    "sendMessage -t orders -p hello -k by-hand -c third -b broker-a -i 0",
    "queryMsgByKey -t orders -k by-hand",
    "consumeMessage -t orders -b broker-a -i 0 -o 0 -c 3",
    "statsAll -t orders",
    "cleanExpiredCQ -c DefaultCluster",
    "cleanUnusedTopic -c DefaultCluster",
    "deleteExpiredCommitLog -b {broker}",
)

# What the two can't share, by the name of a command; each with its reason. Where all of a line goes, the line does.
NOT_COMPARABLE: Mapping[str, Sequence[str]] = {
    "clusterList": (
        # Messages a second, in windows that begin at other times.
        r"\d+\.\d\d(?=\()",
        # Hours since the oldest message, and how full the disk is.
        r"\d+\.\d\d \d\.\d{4}(?= true$)",
    ),
    "brokerStatus": (
        # Times, rates, paths, and the disk of this machine.
        r"^(bootTimestamp|runtime|earliestMessageTimeStamp|get\w+Tps|putTps|commitLogDi\w+|consumeQueueDiskRatio)\W.*",
        # The sizes of pools of threads that we don't have, and what nobody measures here.
        r"^(\w+QueueCapacity|putLatency\d+|(put|get)MessageEntireTimeMax|putMessageDistributeTime) ?:.*",
        # What a flush in the background has not reached yet; our broker acknowledges what is flushed.
        r"^remainHowManyDataToFlush.*",
    ),
    # Topics of transactions in RocksDB, which we don't have.
    "topicList": (r".*RMQ_SYS_ROCKSDB_.*",),
    # As many as there are topics: see above.
    "wipeWritePerm": (r"\d+$",),
    "addWritePerm": (r"\d+$",),
    "consumerStatus": (
        # The consumer's own: objects in its memory, times, how fast it is. What is left is how far it is in each queue.
        r"@[0-9a-f]{6,8}\b|\$\$Lambda\S+|\b20\d{12,15}\b",
        r"(?<=^orders )[\d. ]+$",
        # It takes over its retry queue when it looks up routes the next time.
        r"^%RETRY%live-consumers broker-a 0 .*",
    ),
    # How long the consumer took.
    "queryMsgById": (r"spentTimeMills=\d+",),
    # A rate without decimals.
    "consumerProgress": (r"(?<=CLUSTERING )\d+",),
    # Why not: Apache's has a list of what may not be changed, ours one of what may.
    "updateBrokerConfig": (r"(?<=CODE: 16 ).*",),
    # Amounts: Apache's count begins with the first note after the first message, ours with the start.
    "statsAll": (r"(?<= live-consumers 0 ).*",),
}

# Settings that the two worlds have otherwise: ports and paths, sizes of files, what keeps either from cleaning up and
# Apache's from asking, and where ours has another default, which escrowmq.toml explains.
OTHERWISE = {
    "getBrokerConfig": {
        *("listenPort", "namesrvAddr", "storePathRootDir", "metricsPromExporterHost", "metricsPromExporterPort"),
        *("mappedFileSizeCommitLog", "mappedFileSizeConsumeQueue", "maxHashSlotNum", "maxIndexNum"),
        *("diskMaxUsedSpaceRatio", "fileReservedTime", "transactionCheckInterval", "transactionTimeOut"),
        *("enablePropertyFilter", "flushDelayOffsetInterval", "flushDiskType"),
    },
    "getNamesrvConfig": {"listenPort", "scanNotActiveBrokerInterval"},
}


@pytest.fixture(scope="module")
def told(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """All commands, run once on each side."""
    with apaches(installation, tmp_path_factory.mktemp("apaches")) as world:
        of_apaches = world.run(COMMANDS)
    with ours(installation, tmp_path_factory.mktemp("ours")) as world:
        of_ours = world.run(COMMANDS)
    return list(zip(of_apaches, of_ours, strict=True))


@pytest.mark.parametrize("place", range(len(COMMANDS)), ids=lambda place: f"{place + 1:02} {COMMANDS[place]}")
def test_a_command_tells_the_same_of_both_brokers(told: Told, place: int) -> None:
    name = COMMANDS[place].split(" ")[0]
    of_apaches, of_ours = told[place]
    if name in OTHERWISE:
        theirs, own = settings(of_apaches), settings(of_ours)
        assert {key: own[key] for key in own.keys() - OTHERWISE[name]} == {
            key: theirs[key] for key in own.keys() - OTHERWISE[name]
        }
        return
    patterns = NOT_COMPARABLE.get(name, ())
    expected = without(of_apaches, patterns)
    assert expected, "there is something to compare"
    assert without(of_ours, patterns) == expected
