package org.apache.rocketmq.test.base;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.test.client.rmq.RMQAsyncSendProducer;
import org.apache.rocketmq.test.client.rmq.RMQNormalConsumer;
import org.apache.rocketmq.test.client.rmq.RMQNormalProducer;
import org.apache.rocketmq.test.client.rmq.RMQTransactionalProducer;
import org.apache.rocketmq.test.clientinterface.AbstractMQConsumer;
import org.apache.rocketmq.test.clientinterface.AbstractMQProducer;
import org.apache.rocketmq.test.factory.ConsumerFactory;
import org.apache.rocketmq.test.listener.AbstractListener;
import org.apache.rocketmq.test.util.MQAdminTestUtils;

/**
 * What Apache's integration tests inherit: where the servers are, and clients, topics and groups to test with. The
 * class of this name in Apache's test jar starts its own servers inside the process; this one stands before it on the
 * class path and uses those that run at {@code interop.namesrv}. It has the members that the listed tests ask for.
 */
public class BaseConf {
    public static final String NAMESRV_ADDR = System.getProperty("interop.namesrv");
    protected static final String BROKER1_NAME = "broker-a";
    protected static final String BROKER2_NAME = "broker-b";
    protected static List<Object> mqClients = new CopyOnWriteArrayList<>();

    private static final String CLUSTER = "DefaultCluster";
    private static final int QUEUES_PER_BROKER = 8;
    private static final int TOPIC_KNOWN_WITHIN_S = 30;

    public static String initTopic() {
        return initTopicWithName("topic-" + UUID.randomUUID());
    }

    public static String initTopicWithName(String topic) {
        boolean isMade = MQAdminTestUtils.createTopic(
            NAMESRV_ADDR, CLUSTER, topic, QUEUES_PER_BROKER, Map.of(), TOPIC_KNOWN_WITHIN_S);
        if (!isMade) {
            throw new IllegalStateException("no route to topic " + topic + " after " + TOPIC_KNOWN_WITHIN_S + " s");
        }
        return topic;
    }

    public static String initConsumerGroup() {
        SubscriptionGroupConfig group = new SubscriptionGroupConfig();
        group.setGroupName("group-" + UUID.randomUUID());
        if (!MQAdminTestUtils.createSub(NAMESRV_ADDR, CLUSTER, group)) {
            throw new IllegalStateException("group " + group.getGroupName() + " could not be made");
        }
        return group.getGroupName();
    }

    public static RMQNormalProducer getProducer(String namesrv, String topic) {
        return kept(new RMQNormalProducer(namesrv, topic));
    }

    public static RMQNormalProducer getProducer(String namesrv, String topic, String group, String instance) {
        return kept(new RMQNormalProducer(namesrv, topic, group, instance));
    }

    public static RMQAsyncSendProducer getAsyncProducer(String namesrv, String topic) {
        return kept(new RMQAsyncSendProducer(namesrv, topic));
    }

    public static RMQTransactionalProducer getTransactionalProducer(
        String namesrv, String topic, TransactionListener listener) {
        return kept(new RMQTransactionalProducer(namesrv, topic, false, listener));
    }

    public static RMQNormalConsumer getConsumer(
        String namesrv, String topic, String expression, AbstractListener listener) {
        return getConsumer(namesrv, initConsumerGroup(), topic, expression, listener);
    }

    public static RMQNormalConsumer getConsumer(
        String namesrv, String group, String topic, String expression, AbstractListener listener) {
        return kept(ConsumerFactory.getRMQNormalConsumer(namesrv, group, topic, expression, listener));
    }

    /** Ends every client of the test that has just run. Nobody waits for it: some clients take seconds to end. */
    public static void shutdown() {
        List<Object> clients = List.copyOf(mqClients);
        mqClients.clear();
        for (Object client : clients) {
            Thread ending = new Thread(() -> end(client), "ending " + client);
            ending.setDaemon(true);
            ending.start();
        }
    }

    private static void end(Object client) {
        if (client instanceof AbstractMQProducer) {
            ((AbstractMQProducer) client).shutdown();
        } else {
            ((AbstractMQConsumer) client).shutdown();
        }
    }

    private static <C> C kept(C client) {
        mqClients.add(client);
        return client;
    }
}
