package escrowmq.interop;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Runs transactions of every outcome for a time, waits until each is decided and for a while longer, and tells how many
 * questions came, which ones came twice (the same transaction and the same check number), and which ones came about a
 * transaction that was decided. Apache's benchmark does the same but never counts the first of these.
 *
 * <p>Usage: CountQuestions NAMESRV TOPIC THREADS SECONDS WHILE_MS
 */
public final class CountQuestions {
    private static final int BODY_SIZE = 256;
    private static final int PAUSE_MS = 2;
    private static final long DECIDED_WITHIN_MS = 120_000;
    private static final long POLL_INTERVAL_MS = 100;
    private static final int HEARTBEAT_INTERVAL_MS = 1_000;
    private static final int TOLD_MAX = 20;

    private final AtomicLong sent = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private final AtomicLong questions = new AtomicLong();
    private final Set<String> asked = ConcurrentHashMap.newKeySet();
    // What was said last of each transaction.
    private final Map<String, LocalTransactionState> answers = new ConcurrentHashMap<>();
    private final List<String> twice = new CopyOnWriteArrayList<>();
    private final List<String> unexpected = new CopyOnWriteArrayList<>();

    private CountQuestions() {
    }

    public static void main(String[] args) {
        Program.run(() -> new CountQuestions().run(args));
    }

    private void run(String[] args) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("question-counters");
        producer.setNamesrvAddr(args[0]);
        producer.setHeartbeatBrokerInterval(HEARTBEAT_INTERVAL_MS);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
                return answered(message.getTransactionId(), answer(message.getBody()[0]));
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return questioned(message);
            }
        });
        producer.start();
        long endMs = System.currentTimeMillis() + Long.parseLong(args[3]) * 1_000;
        Thread[] senders = new Thread[Integer.parseInt(args[2])];
        for (int number = 0; number < senders.length; number++) {
            int first = number;
            senders[number] = new Thread(() -> send(producer, args[1], first, endMs));
            senders[number].start();
        }
        for (Thread sender : senders) {
            sender.join();
        }
        boolean isDecided = awaitDecided(System.currentTimeMillis() + DECIDED_WITHIN_MS);
        // Whatever the broker believes to be undecided is asked about once more.
        Thread.sleep(Long.parseLong(args[4]));
        producer.shutdown();
        Rows.print(Map.of("sent", sent.get(), "failed", failed.get(), "questions", questions.get(), "decided", isDecided,
            "twice", twice, "unexpected", unexpected));
    }

    /** The first byte of a body chooses the outcome; each sender goes through all of them. */
    private void send(TransactionMQProducer producer, String topic, int first, long endMs) {
        for (int number = first; System.currentTimeMillis() < endMs; number++) {
            byte[] body = new byte[BODY_SIZE];
            body[0] = (byte) (number % 10);
            try {
                boolean isSent = producer.sendMessageInTransaction(new Message(topic, body), null).getSendStatus()
                    == SendStatus.SEND_OK;
                (isSent ? sent : failed).incrementAndGet();
                Thread.sleep(PAUSE_MS);
            } catch (Exception error) {
                error.printStackTrace();
                failed.incrementAndGet();
            }
        }
    }

    /** Of ten transactions six are committed at once, one is rolled back, and three wait for a question. */
    private static LocalTransactionState answer(int choice) {
        if (choice < 6) {
            return LocalTransactionState.COMMIT_MESSAGE;
        }
        return choice == 6 ? LocalTransactionState.ROLLBACK_MESSAGE : LocalTransactionState.UNKNOW;
    }

    private LocalTransactionState questioned(MessageExt message) {
        String checks = message.getProperty(MessageConst.PROPERTY_TRANSACTION_CHECK_TIMES);
        String question = message.getTransactionId() + " " + checks;
        questions.incrementAndGet();
        if (!asked.add(question)) {
            note(twice, question);
        }
        LocalTransactionState before = answers.get(message.getTransactionId());
        if (before != LocalTransactionState.UNKNOW) {
            note(unexpected, question + " after " + before);
        }
        // One of the three is committed when it is asked about, one rolled back, one not before the second time.
        int choice = message.getBody()[0];
        if (choice == 9 && checks.equals("1")) {
            return answered(message.getTransactionId(), LocalTransactionState.UNKNOW);
        }
        boolean isCommitted = choice != 8;
        return answered(message.getTransactionId(),
            isCommitted ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE);
    }

    private LocalTransactionState answered(String transactionId, LocalTransactionState answer) {
        answers.put(transactionId, answer);
        return answer;
    }

    private boolean awaitDecided(long deadlineMs) throws InterruptedException {
        while (answers.containsValue(LocalTransactionState.UNKNOW)) {
            if (System.currentTimeMillis() > deadlineMs) {
                return false;
            }
            Thread.sleep(POLL_INTERVAL_MS);
        }
        return true;
    }

    private static void note(List<String> list, String what) {
        if (list.size() < TOLD_MAX) {
            list.add(what);
        }
    }
}
