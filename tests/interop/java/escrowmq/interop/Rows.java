package escrowmq.interop;

import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONWriter;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * What these programs tell the tests: one JSON object a line, numbers exact, bodies in base64, in the file that the
 * system property {@code interop.rows} names. Standard output belongs to the logging library.
 */
final class Rows {
    private static final PrintStream OUT = open(System.getProperty("interop.rows"));

    private Rows() {
    }

    static void print(Map<String, Object> row) {
        OUT.println(JSON.toJSONString(row, JSONWriter.Feature.WriteMapNullValue));
    }

    /** Every field that the client decoded from a stored record; the body is decompressed, the rest is as stored. */
    static Map<String, Object> of(MessageExt message) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("topic", message.getTopic());
        row.put("queueId", message.getQueueId());
        row.put("queueOffset", message.getQueueOffset());
        row.put("logOffset", message.getCommitLogOffset());
        row.put("size", message.getStoreSize());
        row.put("sysFlag", message.getSysFlag());
        row.put("flag", message.getFlag());
        row.put("bodyCrc", message.getBodyCRC());
        row.put("bornTimestamp", message.getBornTimestamp());
        row.put("bornHost", host(message.getBornHost()));
        row.put("storeTimestamp", message.getStoreTimestamp());
        row.put("storeHost", host(message.getStoreHost()));
        row.put("reconsumeTimes", message.getReconsumeTimes());
        row.put("preparedTransactionOffset", message.getPreparedTransactionOffset());
        row.put("msgId", message.getMsgId());
        row.put("offsetMsgId", ((MessageClientExt) message).getOffsetMsgId());
        row.put("properties", stored(message.getProperties()));
        row.put("body", body(message.getBody()));
        return row;
    }

    /** An empty body is decoded as null. */
    static String body(byte[] body) {
        return Base64.getEncoder().encodeToString(body == null ? new byte[0] : body);
    }

    /** Without what the client adds to the properties of a pulled message. */
    private static Map<String, String> stored(Map<String, String> properties) {
        Map<String, String> stored = new TreeMap<>(properties);
        stored.remove(MessageConst.PROPERTY_MIN_OFFSET);
        stored.remove(MessageConst.PROPERTY_MAX_OFFSET);
        return stored;
    }

    private static PrintStream open(String path) {
        try {
            return new PrintStream(new FileOutputStream(path), true, StandardCharsets.UTF_8);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static String host(SocketAddress address) {
        InetSocketAddress host = (InetSocketAddress) address;
        String ip = host.getAddress().getHostAddress();
        return (host.getAddress() instanceof Inet6Address ? "[" + ip + "]" : ip) + ":" + host.getPort();
    }
}
