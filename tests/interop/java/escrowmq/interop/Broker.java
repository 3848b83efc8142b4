package escrowmq.interop;

import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.BrokerStartup;

/**
 * Apache's broker, started by its own start-up code. The broker registers while it is still connecting to the name
 * server, and when it loses that race it tries again after ten seconds only; here it tries until it is registered.
 *
 * <p>Usage: Broker -c PROPERTIES, like Apache's own; prints "registered" when clients can find it.
 */
public final class Broker {
    private static final long REGISTERED_WITHIN_MS = 30_000;
    private static final long POLL_INTERVAL_MS = 50;
    private static final long ROUTE_TIMEOUT_MS = 3_000;

    private Broker() {
    }

    public static void main(String[] args) throws Exception {
        BrokerController broker = BrokerStartup.start(BrokerStartup.createBrokerController(args));
        long deadlineMs = System.currentTimeMillis() + REGISTERED_WITHIN_MS;
        while (!isRegistered(broker)) {
            if (System.currentTimeMillis() > deadlineMs) {
                System.err.println("the name server does not take the broker's registration");
                System.exit(1);
            }
            Thread.sleep(POLL_INTERVAL_MS);
            broker.registerBrokerAll(true, false, true);
        }
        System.out.println("registered");
    }

    /** A topic that every broker has by itself, named like the broker, is known when all of its topics are. */
    private static boolean isRegistered(BrokerController broker) {
        try {
            String topic = broker.getBrokerConfig().getBrokerName();
            return broker.getBrokerOuterAPI().getTopicRouteInfoFromNameServer(topic, ROUTE_TIMEOUT_MS, false) != null;
        } catch (Exception error) {
            return false;
        }
    }
}
