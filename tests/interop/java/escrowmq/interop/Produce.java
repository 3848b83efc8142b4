package escrowmq.interop;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Sends messages of every kind to one topic and prints what was sent. Each round is: plain, tagged, keyed (two keys
 * and a property outside ASCII), compressed (zlib, LZ4 and ZSTD in turn), a batch of three, and transactions that are
 * committed, rolled back and left undecided. Returns when the broker has carried out every decision.
 *
 * <p>Usage: Produce NAMESRV TOPIC ROUNDS PREFIX; the prefix starts every body and key, so that runs can be told apart.
 */
public final class Produce {
    private static final int COMPRESS_OVER_BYTES = 4096;
    private static final long DECIDED_WITHIN_MS = 30_000;

    private Produce() {
    }

    public static void main(String[] args) {
        Program.run(() -> run(args));
    }

    private static void run(String[] args) throws Exception {
        String namesrv = args[0];
        String topic = args[1];
        int rounds = Integer.parseInt(args[2]);
        String prefix = args[3];
        sendPlain(namesrv, topic, rounds, prefix);
        sendTransactions(namesrv, topic, rounds, prefix);
    }

    private static void sendPlain(String namesrv, String topic, int rounds, String prefix) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("interop-producers");
        producer.setNamesrvAddr(namesrv);
        producer.setCompressMsgBodyOverHowmuch(COMPRESS_OVER_BYTES);
        producer.start();
        for (int round = 0; round < rounds; round++) {
            String name = prefix + "-" + round;
            send(producer, "plain", new Message(topic, text(name + " plain")));
            send(producer, "tagged", new Message(topic, round % 2 == 0 ? "even" : "odd", text(name + " tagged")));
            Message keyed = new Message(topic, "keyed", name + "-a " + name + "-b", text(name + " keyed"));
            keyed.putUserProperty("città", "Forlì €");
            send(producer, "keyed", keyed);
            CompressionType type = CompressionType.values()[round % CompressionType.values().length];
            producer.setCompressType(type);
            String words = (name + " compressed by " + type + " ").repeat(COMPRESS_OVER_BYTES / 16);
            send(producer, "compressed", new Message(topic, "big", name + "-big", text(words)));
            sendBatch(producer, List.of(
                new Message(topic, "batch", name + "-x", text(name + " first of three")),
                new Message(topic, "batch", name + "-y", text(name + " second of three")),
                new Message(topic, "batch", name + "-z", text(name + " third of three"))));
        }
        producer.shutdown();
    }

    private static void send(DefaultMQProducer producer, String kind, Message message) throws Exception {
        byte[] body = message.getBody();
        SendResult result = checked(producer.send(message));
        print(kind, message, body, result, result.getQueueOffset(), result.getMsgId(), result.getOffsetMsgId());
    }

    /** One result stands for the whole batch: ids joined by commas, and the first queue offset of a run. */
    private static void sendBatch(DefaultMQProducer producer, List<Message> messages) throws Exception {
        SendResult result = checked(producer.send(messages));
        String[] ids = result.getMsgId().split(",");
        String[] offsetIds = result.getOffsetMsgId().split(",");
        for (int i = 0; i < messages.size(); i++) {
            Message message = messages.get(i);
            print("batch", message, message.getBody(), result, result.getQueueOffset() + i, ids[i], offsetIds[i]);
        }
    }

    private static void sendTransactions(String namesrv, String topic, int rounds, String prefix) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("interop-transactions");
        producer.setNamesrvAddr(namesrv);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object outcome) {
                return (LocalTransactionState) outcome;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.UNKNOW;
            }
        });
        producer.start();
        TreeSet<Long> decided = new TreeSet<>();
        for (int round = 0; round < rounds; round++) {
            for (LocalTransactionState outcome : LocalTransactionState.values()) {
                String kind = outcome.name().replaceAll("_.*", "").toLowerCase();
                String name = prefix + "-" + round + "-" + kind;
                Message message = new Message(topic, "transaction", name, text(name));
                SendResult result = checked(producer.sendMessageInTransaction(message, outcome));
                // The result of a prepare names the place of the half message.
                print(kind, message, message.getBody(), result, result.getQueueOffset(), result.getMsgId(),
                    result.getOffsetMsgId());
                if (outcome != LocalTransactionState.UNKNOW) {
                    decided.add(result.getQueueOffset());
                }
            }
        }
        OpQueue.awaitDecided(namesrv, decided, System.currentTimeMillis() + DECIDED_WITHIN_MS);
        producer.shutdown();
    }

    private static SendResult checked(SendResult result) {
        if (result.getSendStatus() != SendStatus.SEND_OK) {
            throw new IllegalStateException("not sent: " + result);
        }
        return result;
    }

    private static void print(String kind, Message message, byte[] body, SendResult result, long queueOffset,
        String msgId, String offsetMsgId) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("kind", kind);
        row.put("topic", message.getTopic());
        row.put("queueId", result.getMessageQueue().getQueueId());
        row.put("queueOffset", queueOffset);
        row.put("msgId", msgId);
        row.put("offsetMsgId", offsetMsgId);
        row.put("tags", message.getTags());
        row.put("keys", message.getKeys());
        row.put("body", Rows.body(body));
        Rows.print(row);
    }

    private static byte[] text(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
