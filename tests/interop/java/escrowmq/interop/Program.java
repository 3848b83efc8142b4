package escrowmq.interop;

/** A main function that ends the process, which the client's own threads would keep alive, and fails by its exit code. */
final class Program {
    interface Body {
        void run() throws Exception;
    }

    private Program() {
    }

    static void run(Body body) {
        int code = 0;
        try {
            body.run();
        } catch (Throwable error) {
            error.printStackTrace();
            code = 1;
        }
        System.exit(code);
    }
}
