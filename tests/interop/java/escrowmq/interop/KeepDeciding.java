package escrowmq.interop;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * A producer that does not mind when its broker dies: prepares and decides transactions of every outcome for as long as a
 * file is there, says so when it stops, and then answers questions until it is killed. Every row names a transaction by its
 * key: "decided" when its prepare was acknowledged, with what was said then; "ended" when all calls have returned;
 * "failed" when the prepare was not acknowledged; "question" with what was answered.
 *
 * <p>Usage: KeepDeciding NAMESRV GROUP TOPIC THREADS FILE
 */
public final class KeepDeciding {
    private static final List<String> BODIES = List.of("commit", "rollback", "unknown then commit", "unknown then rollback");
    private static final int HEARTBEAT_INTERVAL_MS = 300;
    private static final int SEND_TIMEOUT_MS = 2_000;
    private static final int PAUSE_MS = 5;
    private static final int PAUSE_AFTER_FAILURE_MS = 50;

    private KeepDeciding() {
    }

    public static void main(String[] args) {
        Program.run(() -> run(args));
    }

    private static void run(String[] args) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(args[1]);
        producer.setNamesrvAddr(args[0]);
        producer.setHeartbeatBrokerInterval(HEARTBEAT_INTERVAL_MS);
        producer.setSendMsgTimeout(SEND_TIMEOUT_MS);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
                return told("decided", message.getKeys(), Outcome.atOnce(message));
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return told("question", message.getKeys(), Outcome.whenAsked(message));
            }
        });
        producer.start();
        System.out.println("started");
        Thread[] senders = new Thread[Integer.parseInt(args[3])];
        for (int number = 0; number < senders.length; number++) {
            String name = Integer.toString(number);
            senders[number] = new Thread(() -> send(producer, args[2], name, Path.of(args[4])));
            senders[number].start();
        }
        for (Thread sender : senders) {
            sender.join();
        }
        System.out.println("stopped");
        Thread.currentThread().join();
    }

    private static void send(TransactionMQProducer producer, String topic, String name, Path file) {
        for (int number = 0; Files.exists(file); number++) {
            String key = name + "-" + number;
            byte[] body = (BODIES.get(number % BODIES.size()) + " " + key).getBytes(StandardCharsets.UTF_8);
            try {
                TransactionSendResult result =
                    producer.sendMessageInTransaction(new Message(topic, "tx", key, body), null);
                tell("ended", key, result.getSendStatus() + " " + result.getLocalTransactionState());
            } catch (Exception error) {
                tell("failed", key, error.toString());
                pause(PAUSE_AFTER_FAILURE_MS);
            }
            pause(PAUSE_MS);
        }
    }

    private static void pause(int pauseMs) {
        try {
            Thread.sleep(pauseMs);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static LocalTransactionState told(String kind, String key, LocalTransactionState answer) {
        tell(kind, key, answer.toString());
        return answer;
    }

    private static void tell(String kind, String key, String what) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("kind", kind);
        row.put("key", key);
        row.put("what", what);
        Rows.print(row);
    }
}
