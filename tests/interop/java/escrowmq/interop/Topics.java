package escrowmq.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Reads a topic whole, from the smallest offset of each queue to the largest at the time of the call. */
final class Topics {
    private static final int PULL_MAX = 32;

    private Topics() {
    }

    static DefaultMQPullConsumer reader(String namesrv) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("interop-readers");
        consumer.setNamesrvAddr(namesrv);
        consumer.start();
        return consumer;
    }

    /** Queue by queue, in the order of the offsets. A queue that cannot be read to its end is an error. */
    static List<MessageExt> readAll(DefaultMQPullConsumer consumer, String topic) throws Exception {
        List<MessageExt> messages = new ArrayList<>();
        for (MessageQueue queue : new TreeSet<>(consumer.fetchSubscribeMessageQueues(topic))) {
            long offset = consumer.minOffset(queue);
            long end = consumer.maxOffset(queue);
            while (offset < end) {
                PullResult result = consumer.pull(queue, "*", offset, PULL_MAX);
                if (result.getPullStatus() == PullStatus.FOUND) {
                    messages.addAll(result.getMsgFoundList());
                }
                if (result.getNextBeginOffset() <= offset) {
                    throw new IllegalStateException(queue + " does not get past offset " + offset + ": " + result);
                }
                offset = result.getNextBeginOffset();
            }
        }
        return messages;
    }
}
