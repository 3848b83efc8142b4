package escrowmq.interop;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Asks by messages and waits for the replies that a consumer sends; tells each question and its reply.
 *
 * <p>Usage: RequestReply NAMESRV TOPIC QUESTIONS
 */
public final class RequestReply {
    private static final long TIMEOUT_MS = 30_000;

    private RequestReply() {
    }

    public static void main(String[] args) {
        Program.run(() -> run(args[0], args[1], Integer.parseInt(args[2])));
    }

    private static void run(String namesrv, String topic, int questions) throws Exception {
        DefaultMQProducer replier = producer("repliers", namesrv);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("asked");
        consumer.setNamesrvAddr(namesrv);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(message -> reply(replier, message));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        DefaultMQProducer asker = producer("askers", namesrv);
        for (int number = 0; number < questions; number++) {
            String question = "question " + number;
            Message message = asker.request(new Message(topic, question.getBytes(StandardCharsets.UTF_8)), TIMEOUT_MS);
            Rows.print(Map.of("question", question, "reply", new String(message.getBody(), StandardCharsets.UTF_8)));
        }
    }

    private static DefaultMQProducer producer(String group, String namesrv) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(group);
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName(group);
        producer.start();
        return producer;
    }

    private static void reply(DefaultMQProducer replier, MessageExt question) {
        try {
            String text = "reply to " + new String(question.getBody(), StandardCharsets.UTF_8);
            replier.send(MessageUtil.createReplyMessage(question, text.getBytes(StandardCharsets.UTF_8)));
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }
}
