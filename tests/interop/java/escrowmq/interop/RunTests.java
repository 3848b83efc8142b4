package escrowmq.interop;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.internal.Throwables;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * Runs one class of JUnit tests. A row tells of each test what became of it; a class that could not be set up has a row
 * of its own, and when the time is over, the test that is still running fails with the stack at which it stands.
 *
 * <p>Usage: RunTests CLASS DEADLINE_S
 */
public final class RunTests {
    private RunTests() {
    }

    public static void main(String[] args) {
        Program.run(() -> {
            Reporter reporter = new Reporter(Thread.currentThread());
            Thread watch = new Thread(() -> endAfter(Long.parseLong(args[1]), reporter), "deadline");
            watch.setDaemon(true);
            watch.start();
            JUnitCore junit = new JUnitCore();
            junit.addListener(reporter);
            junit.run(Class.forName(args[0]));
        });
    }

    private static void endAfter(long seconds, Reporter reporter) {
        try {
            TimeUnit.SECONDS.sleep(seconds);
        } catch (InterruptedException error) {
            return;
        }
        reporter.tellOfUnfinished("not finished after " + seconds + " s");
        Runtime.getRuntime().halt(0);
    }

    private static final class Reporter extends RunListener {
        private final Thread runner;
        private final Set<Description> told = new HashSet<>();
        private Description running = Description.EMPTY;
        private long startedNs = System.nanoTime();

        Reporter(Thread runner) {
            this.runner = runner;
        }

        synchronized void tellOfUnfinished(String reason) {
            Throwable stack = new IllegalStateException(reason);
            stack.setStackTrace(runner.getStackTrace());
            tell(running, "failed", Throwables.getTrimmedStackTrace(stack));
        }

        @Override
        public synchronized void testStarted(Description test) {
            running = test;
            startedNs = System.nanoTime();
        }

        @Override
        public synchronized void testFailure(Failure failure) {
            tell(failure.getDescription(), "failed", failure.getTrace());
        }

        @Override
        public synchronized void testAssumptionFailure(Failure failure) {
            tell(failure.getDescription(), "ignored", failure.getTrace());
        }

        @Override
        public synchronized void testIgnored(Description test) {
            tell(test, "ignored", "");
        }

        @Override
        public synchronized void testFinished(Description test) {
            if (!told.contains(test)) {
                tell(test, "passed", "");
            }
        }

        private void tell(Description test, String outcome, String trace) {
            told.add(test);
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("test", test.getDisplayName());
            row.put("outcome", outcome);
            row.put("seconds", (System.nanoTime() - startedNs) / 1e9);
            row.put("trace", trace);
            Rows.print(row);
        }
    }
}
