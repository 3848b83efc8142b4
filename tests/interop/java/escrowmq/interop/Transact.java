package escrowmq.interop;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Prepares transactions and ends them as their bodies say, prints "prepared", and then stays and answers the broker's
 * questions until the process is killed. Tells what it prepared, and each question.
 *
 * <p>Usage: Transact NAMESRV GROUP TOPIC KEY|BODY..., or KEY|BODY|SECONDS for a transaction that is immune so long.
 */
public final class Transact {
    private static final int HEARTBEAT_INTERVAL_MS = 500;

    private Transact() {
    }

    public static void main(String[] args) {
        Program.run(() -> run(args));
    }

    private static void run(String[] args) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(args[1]);
        producer.setNamesrvAddr(args[0]);
        producer.setHeartbeatBrokerInterval(HEARTBEAT_INTERVAL_MS);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
                return Outcome.atOnce(message);
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                String checks = message.getProperty(MessageConst.PROPERTY_TRANSACTION_CHECK_TIMES);
                print("question", message.getTransactionId(), message.getKeys(), message.getQueueOffset(), checks);
                return Outcome.whenAsked(message);
            }
        });
        producer.start();
        for (String planned : List.of(args).subList(3, args.length)) {
            String[] parts = planned.split("\\|");
            byte[] body = parts[1].getBytes(StandardCharsets.UTF_8);
            Message message = new Message(args[2], "tx", parts[0], body);
            if (parts.length > 2) {
                message.putUserProperty(MessageConst.PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS, parts[2]);
            }
            SendResult result = producer.sendMessageInTransaction(message, null);
            if (result.getSendStatus() != SendStatus.SEND_OK) {
                throw new IllegalStateException("not prepared: " + result);
            }
            print("prepared", result.getTransactionId(), parts[0], result.getQueueOffset(), null);
        }
        System.out.println("prepared");
        Thread.currentThread().join();
    }

    private static void print(String kind, String transactionId, String key, long halfOffset, String checks) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("kind", kind);
        row.put("transactionId", transactionId);
        row.put("key", key);
        row.put("halfOffset", halfOffset);
        row.put("checks", checks);
        Rows.print(row);
    }
}
