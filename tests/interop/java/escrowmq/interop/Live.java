package escrowmq.interop;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.store.OffsetStore;
import org.apache.rocketmq.client.consumer.store.ReadOffsetType;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Clients that stay: sends messages to two queues of a topic in turn, consumes all of them, and then keeps the producer
 * and the consumer connected until the process is killed. Tells where each message went and the id of the consumer, and
 * prints "consumed" when offsets are committed.
 *
 * <p>Usage: Live NAMESRV BROKER TOPIC MESSAGES
 */
public final class Live {
    private static final int QUEUES = 2;
    private static final long CONSUMED_WITHIN_S = 60;
    private static final long POLL_INTERVAL_MS = 50;

    private Live() {
    }

    public static void main(String[] args) throws Exception {
        String namesrv = args[0];
        String broker = args[1];
        String topic = args[2];
        int messages = Integer.parseInt(args[3]);
        DefaultMQProducer producer = new DefaultMQProducer("live-producers");
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("live-producer");
        producer.start();
        for (int number = 0; number < messages; number++) {
            Message message = new Message(topic, number % 3 == 0 ? "third" : "other", "key-" + number, body(number));
            SendResult result = producer.send(message, new MessageQueue(topic, broker, number % QUEUES));
            Rows.print(Map.of("msgId", result.getMsgId(), "offsetMsgId", result.getOffsetMsgId()));
        }
        CountDownLatch left = new CountDownLatch(messages);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("live-consumers");
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("live-consumer");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPersistConsumerOffsetInterval(100);
        consumer.subscribe(topic, "third || other");
        consumer.registerMessageListener((MessageListenerConcurrently) (found, context) -> {
            found.forEach(message -> left.countDown());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        if (!left.await(CONSUMED_WITHIN_S, TimeUnit.SECONDS)) {
            throw new IllegalStateException(left.getCount() + " messages were not consumed");
        }
        for (int queue = 0; queue < QUEUES; queue++) {
            awaitCommitted(consumer, new MessageQueue(topic, broker, queue), (messages + QUEUES - 1 - queue) / QUEUES);
        }
        Rows.print(Map.of("client", consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId()));
        System.out.println("consumed");
        Thread.currentThread().join();
    }

    private static void awaitCommitted(DefaultMQPushConsumer consumer, MessageQueue queue, long end)
        throws InterruptedException {
        OffsetStore offsets = consumer.getDefaultMQPushConsumerImpl().getOffsetStore();
        while (offsets.readOffset(queue, ReadOffsetType.READ_FROM_STORE) != end) {
            Thread.sleep(POLL_INTERVAL_MS);
        }
    }

    private static byte[] body(int number) {
        return ("body " + number).getBytes(StandardCharsets.UTF_8);
    }
}
