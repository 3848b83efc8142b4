package escrowmq.interop;

import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Prints messages as the Java client sees them. A selector is a topic (every message of all its queues, in order) or
 * {@code topic#key} (what the key index finds); each row names the selector that found it.
 *
 * <p>Usage: Dump NAMESRV SELECTOR...
 */
public final class Dump {
    private static final int FOUND_MAX = 64;

    private Dump() {
    }

    public static void main(String[] args) {
        Program.run(() -> run(args));
    }

    private static void run(String[] args) throws Exception {
        DefaultMQPullConsumer consumer = Topics.reader(args[0]);
        for (String selector : List.of(args).subList(1, args.length)) {
            int hash = selector.indexOf('#');
            List<MessageExt> found = hash < 0
                ? Topics.readAll(consumer, selector)
                : findByKey(consumer, selector.substring(0, hash), selector.substring(hash + 1));
            for (MessageExt message : found) {
                Map<String, Object> row = Rows.of(message);
                row.put("selector", selector);
                Rows.print(row);
            }
        }
        consumer.shutdown();
    }

    private static List<MessageExt> findByKey(DefaultMQPullConsumer consumer, String topic, String key)
        throws Exception {
        // Without the route the client does not know which broker to ask.
        consumer.fetchSubscribeMessageQueues(topic);
        return consumer.queryMessage(topic, key, FOUND_MAX, 0, Long.MAX_VALUE).getMessageList();
    }
}
