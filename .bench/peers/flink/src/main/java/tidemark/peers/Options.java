package tidemark.peers;

import java.util.List;

/**
 * What varies: the job comes from the environment (see the documentation of Peer in Tidemark's package bench), the variant of Flink from the
 * arguments.
 */
final class Options {
    // The job.
    final String input = required("BENCH_INPUT");
    final String output = required("BENCH_OUTPUT");
    final String scratch = required("BENCH_SCRATCH");
    final long windowMillis = Long.parseLong(required("BENCH_WINDOW_MS"));
    final long boundMillis = Long.parseLong(required("BENCH_BOUND_MS"));
    final long checkpointMillis = Long.parseLong(required("BENCH_CHECKPOINT_MS"));
    final String stats = System.getenv("BENCH_STATS"); // null: nobody wants to know

    // The variant.
    String state = "hashmap"; // hashmap, rocksdb or forst
    String parse = "stream"; // stream: Jackson's JsonParser; hand: looks for the three fields and for nothing else
    boolean spread; // lines are handed round to all parsers, instead of parsed where they are read
    int warmup; // passes before the one that counts, in the same virtual machine
    int parallelism = 2;

    Options(String[] args) {
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--state" -> state = oneOf(args, ++i, List.of("hashmap", "rocksdb", "forst"));
                case "--parse" -> parse = oneOf(args, ++i, List.of("stream", "hand"));
                case "--spread" -> spread = true;
                case "--warmup" -> warmup = Integer.parseInt(value(args, ++i));
                case "--parallelism" -> parallelism = Integer.parseInt(value(args, ++i));
                default -> throw new IllegalArgumentException(
                        args[i] + ": there are --state, --parse, --spread, --warmup and --parallelism");
            }
        }
    }

    private static String required(String name) {
        String value = System.getenv(name);
        if (value == null || value.isEmpty()) {
            throw new IllegalArgumentException(name + " is not set: `tidemark bench --peer` sets it");
        }
        return value;
    }

    private static String value(String[] args, int i) {
        if (i >= args.length) {
            throw new IllegalArgumentException(args[i - 1] + " needs a value");
        }
        return args[i];
    }

    private static String oneOf(String[] args, int i, List<String> words) {
        String value = value(args, i);
        if (!words.contains(value)) {
            throw new IllegalArgumentException(args[i - 1] + " " + value + ": there are " + String.join(", ", words));
        }
        return value;
    }
}
