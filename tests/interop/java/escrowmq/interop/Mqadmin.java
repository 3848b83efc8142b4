package escrowmq.interop;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Many commands of mqadmin in one process, one after the other, and what each of them prints, errors included.
 *
 * <p>Usage: Mqadmin FILE; the file has a command a line, its words separated by tabs.
 */
public final class Mqadmin {
    private Mqadmin() {
    }

    public static void main(String[] args) {
        Program.run(() -> {
            for (String line : Files.readAllLines(Path.of(args[0]))) {
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("command", line);
                row.put("printed", printed(line.split("\t")));
                Rows.print(row);
            }
        });
    }

    private static String printed(String[] command) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8)) {
            System.setOut(stream);
            System.setErr(stream);
            MQAdminStartup.main(command);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }
}
