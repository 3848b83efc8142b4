package escrowmq.interop;

import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * The broker's own list of decided transactions: records whose bodies name half messages by queue offset ("3,5,").
 * END_TRANSACTION is sent one-way and the broker writes this list in the background, so reading it is the only way to
 * know that a decision has been carried out.
 */
final class OpQueue {
    private static final String TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC";
    private static final long POLL_INTERVAL_MS = 50;

    private OpQueue() {
    }

    /** Returns once every one of the half messages is decided. */
    static void awaitDecided(String namesrv, Set<Long> halfOffsets, long deadlineMs) throws Exception {
        DefaultMQPullConsumer consumer = Topics.reader(namesrv);
        Set<Long> undecided = new TreeSet<>(halfOffsets);
        while (true) {
            for (MessageExt message : Topics.readAll(consumer, TOPIC)) {
                for (String half : new String(message.getBody(), StandardCharsets.UTF_8).split(",")) {
                    undecided.remove(Long.valueOf(half));
                }
            }
            if (undecided.isEmpty()) {
                break;
            }
            if (System.currentTimeMillis() > deadlineMs) {
                throw new IllegalStateException("half messages still undecided at the deadline: " + undecided);
            }
            Thread.sleep(POLL_INTERVAL_MS);
        }
        consumer.shutdown();
    }
}
