package escrowmq.interop;

import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONObject;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.broker.filter.MessageEvaluationContext;
import org.apache.rocketmq.common.filter.ExpressionType;
import org.apache.rocketmq.filter.FilterFactory;
import org.apache.rocketmq.filter.expression.Expression;

/**
 * What Apache's SQL92 filter makes of expressions and the properties of messages: for each message TRUE, FALSE, NULL or
 * THROWN, which a broker takes for no match; nothing for an expression that it refuses.
 *
 * <p>Usage: Evaluate CASES, a file with one {@code {"expression", "messages": [properties, ...]}} a line.
 */
public final class Evaluate {
    private Evaluate() {
    }

    public static void main(String[] args) {
        Program.run(() -> run(Path.of(args[0])));
    }

    private static void run(Path cases) throws Exception {
        for (String line : Files.readAllLines(cases, StandardCharsets.UTF_8)) {
            JSONObject row = JSON.parseObject(line);
            String expression = row.getString("expression");
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("expression", expression);
            answer.put("messages", row.get("messages"));
            answer.put("results", results(expression, row.getList("messages", JSONObject.class)));
            Rows.print(answer);
        }
    }

    private static List<String> results(String expression, List<JSONObject> messages) {
        Expression compiled;
        try {
            compiled = FilterFactory.INSTANCE.get(ExpressionType.SQL92).compile(expression);
        } catch (Throwable refused) {
            return null;
        }
        List<String> results = new ArrayList<>();
        for (JSONObject message : messages) {
            Map<String, String> properties = new LinkedHashMap<>();
            message.forEach((name, value) -> properties.put(name, (String) value));
            results.add(result(compiled, properties));
        }
        return results;
    }

    private static String result(Expression compiled, Map<String, String> properties) {
        try {
            Object result = compiled.evaluate(new MessageEvaluationContext(properties));
            return result == null ? "NULL" : result.toString().toUpperCase();
        } catch (Throwable thrown) {
            return "THROWN";
        }
    }
}
