package escrowmq.interop;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * A producer that sends nothing: it joins a group and answers the broker's questions about half messages left behind
 * by others, as their bodies say. Returns when the given number of different transactions has been asked about and the
 * broker has carried out every answer.
 *
 * <p>Usage: Answer NAMESRV GROUP TOPIC TRANSACTIONS
 */
public final class Answer {
    private static final long ANSWERED_WITHIN_MS = 60_000;
    private static final int HEARTBEAT_INTERVAL_MS = 500;

    private Answer() {
    }

    public static void main(String[] args) {
        Program.run(() -> run(args));
    }

    private static void run(String[] args) throws Exception {
        int transactions = Integer.parseInt(args[3]);
        long deadlineMs = System.currentTimeMillis() + ANSWERED_WITHIN_MS;
        // The newest copy that was asked about, by unique key: the broker puts a half message back before each question.
        Map<String, Long> asked = new ConcurrentHashMap<>();
        // With a topic named here the producer looks up its brokers at once, and sends them heartbeats.
        TransactionMQProducer producer = new TransactionMQProducer(args[1], List.of(args[2]));
        producer.setNamesrvAddr(args[0]);
        producer.setHeartbeatBrokerInterval(HEARTBEAT_INTERVAL_MS);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
                throw new IllegalStateException("this producer sends nothing");
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                print(message);
                asked.put(message.getTransactionId(), message.getQueueOffset());
                synchronized (asked) {
                    asked.notifyAll();
                }
                return Outcome.afterTheMove(message);
            }
        });
        producer.start();
        synchronized (asked) {
            while (asked.size() < transactions) {
                long leftMs = deadlineMs - System.currentTimeMillis();
                if (leftMs <= 0) {
                    throw new IllegalStateException("asked about " + asked + " only, of " + transactions);
                }
                asked.wait(leftMs);
            }
        }
        OpQueue.awaitDecided(args[0], Set.copyOf(asked.values()), deadlineMs);
        producer.shutdown();
    }

    private static void print(MessageExt message) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("topic", message.getTopic());
        row.put("transactionId", message.getTransactionId());
        row.put("halfOffset", message.getQueueOffset());
        row.put("logOffset", message.getCommitLogOffset());
        row.put("properties", message.getProperties());
        row.put("body", Rows.body(message.getBody()));
        Rows.print(row);
    }
}
