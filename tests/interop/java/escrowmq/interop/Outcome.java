package escrowmq.interop;

import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.common.message.Message;

/**
 * What becomes of a transaction stands in its body: "commit", "rollback", "unknown then commit", "unknown then rollback",
 * "unknown for ever", or "unknown until it moves then" either of the two, which only another producer knows to answer.
 */
final class Outcome {
    private static final String WHEN_ASKED = "unknown then ";
    private static final String AFTER_THE_MOVE = "unknown until it moves then ";

    private Outcome() {
    }

    /** What its producer says when it has prepared it. */
    static LocalTransactionState atOnce(Message message) {
        return of(text(message));
    }

    /** What its producer says when it is asked. */
    static LocalTransactionState whenAsked(Message message) {
        return of(without(WHEN_ASKED, text(message)));
    }

    /** What a producer says that takes over from another one. */
    static LocalTransactionState afterTheMove(Message message) {
        return of(without(AFTER_THE_MOVE, without(WHEN_ASKED, text(message))));
    }

    private static String text(Message message) {
        return new String(message.getBody(), StandardCharsets.UTF_8);
    }

    private static String without(String beginning, String body) {
        return body.startsWith(beginning) ? body.substring(beginning.length()) : body;
    }

    private static LocalTransactionState of(String body) {
        if (body.startsWith("commit")) {
            return LocalTransactionState.COMMIT_MESSAGE;
        }
        return body.startsWith("rollback") ? LocalTransactionState.ROLLBACK_MESSAGE : LocalTransactionState.UNKNOW;
    }
}
