package tidemark.peers;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.java.tuple.Tuple3;

/** Lines to (key, ts, value). A tuple is used again and again, which Flink's object reuse allows. */
final class Parsers {
    private Parsers() {}

    static MapFunction<String, Tuple3<String, Long, Double>> of(String name) {
        return name.equals("hand") ? new Hand() : new Stream();
    }

    /** What a careful user writes: Jackson's token stream, without a tree and without binding. Any JSON object will do. */
    static final class Stream implements MapFunction<String, Tuple3<String, Long, Double>> {
        private static final long serialVersionUID = 1;
        private static final JsonFactory JSON = new JsonFactory();

        private final Tuple3<String, Long, Double> out = new Tuple3<>();

        @Override
        public Tuple3<String, Long, Double> map(String line) throws Exception {
            out.f0 = null;
            out.f1 = null;
            out.f2 = null;
            try (JsonParser p = JSON.createParser(line)) {
                if (p.nextToken() != JsonToken.START_OBJECT) {
                    throw new IllegalArgumentException("not an object: " + line);
                }
                while (p.nextToken() == JsonToken.FIELD_NAME) {
                    String name = p.currentName();
                    p.nextToken();
                    switch (name) {
                        case "key" -> out.f0 = p.getText();
                        case "ts" -> out.f1 = p.getLongValue();
                        case "value" -> out.f2 = p.getDoubleValue();
                        default -> p.skipChildren();
                    }
                }
            }
            if (out.f0 == null || out.f1 == null || out.f2 == null) {
                throw new IllegalArgumentException("key, ts or value is missing: " + line);
            }
            return out;
        }
    }

    /** What nobody should have to write: good for the benchmark's own lines only, whose strings have no escapes. */
    static final class Hand implements MapFunction<String, Tuple3<String, Long, Double>> {
        private static final long serialVersionUID = 1;

        private final Tuple3<String, Long, Double> out = new Tuple3<>();

        @Override
        public Tuple3<String, Long, Double> map(String line) {
            int key = after(line, "\"key\":\"", 0);
            int end = line.indexOf('"', key);
            int ts = after(line, "\"ts\":", end);
            int value = after(line, "\"value\":", ts);
            out.f0 = line.substring(key, end);
            out.f1 = digits(line, ts);
            out.f2 = decimal(line, value);
            return out;
        }

        private static int after(String line, String label, int from) {
            int at = line.indexOf(label, from);
            if (at < 0) {
                throw new IllegalArgumentException(label + " is missing: " + line);
            }
            return at + label.length();
        }

        private static long digits(String line, int at) {
            long n = 0;
            for (char c; at < line.length() && (c = line.charAt(at)) >= '0' && c <= '9'; at++) {
                n = 10 * n + c - '0';
            }
            return n;
        }

        /** Digits with at most a few decimals: their integer divided by a power of ten is the nearest double. */
        private static double decimal(String line, int at) {
            long n = 0;
            double scale = 1;
            boolean fraction = false;
            for (; at < line.length(); at++) {
                char c = line.charAt(at);
                if (c == '.') {
                    fraction = true;
                } else if (c >= '0' && c <= '9') {
                    n = 10 * n + c - '0';
                    scale *= fraction ? 10 : 1;
                } else {
                    break;
                }
            }
            return n / scale;
        }
    }
}
