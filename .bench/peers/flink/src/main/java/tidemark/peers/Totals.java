package tidemark.peers;

import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.serialization.Encoder;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** Count, sum, min and max, kept as they come: a window holds one tuple a key, not its records. */
final class Totals
        implements AggregateFunction<Tuple3<String, Long, Double>, Tuple4<Long, Double, Double, Double>, Tuple4<Long, Double, Double, Double>> {
    private static final long serialVersionUID = 1;

    @Override
    public Tuple4<Long, Double, Double, Double> createAccumulator() {
        return Tuple4.of(0L, 0.0, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY);
    }

    @Override
    public Tuple4<Long, Double, Double, Double> add(Tuple3<String, Long, Double> event, Tuple4<Long, Double, Double, Double> a) {
        double v = event.f2;
        a.f0++;
        a.f1 += v;
        if (v < a.f2) {
            a.f2 = v;
        }
        if (v > a.f3) {
            a.f3 = v;
        }
        return a;
    }

    @Override
    public Tuple4<Long, Double, Double, Double> getResult(Tuple4<Long, Double, Double, Double> a) {
        return a;
    }

    @Override
    public Tuple4<Long, Double, Double, Double> merge(Tuple4<Long, Double, Double, Double> a, Tuple4<Long, Double, Double, Double> b) {
        return Tuple4.of(a.f0 + b.f0, a.f1 + b.f1, Math.min(a.f2, b.f2), Math.max(a.f3, b.f3));
    }

    /** A result with its key and window; plain fields, so that Flink takes it for a POJO. */
    public static final class Row implements Serializable { // it is the field of a function, too
        private static final long serialVersionUID = 1;

        public String key;
        public long start;
        public long end;
        public long n;
        public double sum;
        public double min;
        public double max;
    }

    /** Joins totals with their key and window. */
    static final class Named extends ProcessWindowFunction<Tuple4<Long, Double, Double, Double>, Row, String, TimeWindow> {
        private static final long serialVersionUID = 1;

        private final Row row = new Row();

        @Override
        public void process(String key, Context c, Iterable<Tuple4<Long, Double, Double, Double>> totals, Collector<Row> out) {
            Tuple4<Long, Double, Double, Double> t = totals.iterator().next();
            row.key = key;
            row.start = c.window().getStart();
            row.end = c.window().getEnd();
            row.n = t.f0;
            row.sum = t.f1;
            row.min = t.f2;
            row.max = t.f3;
            out.collect(row);
        }
    }

    /** A row as a line of JSON. The times of the last window are remembered: a million rows share them. */
    static final class Lines implements Encoder<Row> {
        private static final long serialVersionUID = 1;

        private transient StringBuilder text;
        private transient String window;
        private transient long start;

        @Override
        public void encode(Row r, OutputStream out) throws IOException {
            if (text == null) {
                text = new StringBuilder(200);
            }
            if (window == null || start != r.start) {
                start = r.start;
                window = "\",\"window_start\":\"" + Instant.ofEpochMilli(r.start) + "\",\"window_end\":\"" + Instant.ofEpochMilli(r.end) + "\",\"n\":";
            }
            text.setLength(0);
            text.append("{\"key\":\"").append(r.key).append(window).append(r.n);
            text.append(",\"sum\":").append(r.sum).append(",\"min\":").append(r.min).append(",\"max\":").append(r.max).append("}\n");
            out.write(text.toString().getBytes(StandardCharsets.UTF_8));
        }
    }
}
