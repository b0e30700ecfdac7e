package tidemark.peers;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;

/**
 * The benchmark's job on a mini-cluster in this virtual machine: a file of JSON lines, count, sum, min and max per key and tumbling event-time
 * window, an exactly-once file sink.
 */
public final class Job {
    private Job() {}

    public static void main(String[] args) {
        int code = 0;
        try {
            measure(new Options(args));
        } catch (Throwable e) {
            e.printStackTrace();
            code = 1;
        }
        System.exit(code); // threads of the client's may linger
    }

    private static void measure(Options o) throws Exception {
        for (int i = 1; i <= o.warmup; i++) {
            run(o, o.scratch + "/warmup-" + i);
        }
        long cpu = cpuNanos();
        JobExecutionResult result = run(o, o.output);
        double cpuSeconds = (cpuNanos() - cpu) / 1e9;
        if (o.stats != null) {
            // The job's net run time leaves out the start of the mini-cluster; its processor time is not to be told apart and is in.
            Files.writeString(Path.of(o.stats), String.format(Locale.ROOT, "{\"seconds\":%.3f,\"cpu_seconds\":%.3f,\"version\":\"%s\"}%n",
                    result.getNetRuntime() / 1e3, cpuSeconds, describe(o)));
        }
    }

    private static JobExecutionResult run(Options o, String output) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(o.parallelism, settings(o));
        DataStream<String> lines = env.fromSource(
                FileSource.forRecordStreamFormat(new TextLineInputFormat(), new org.apache.flink.core.fs.Path(o.input)).build(),
                WatermarkStrategy.noWatermarks(), "lines");
        if (o.spread) {
            // One file is one split, so one reader reads; each parser then gets every n-th line, which are as much out of order as all of them.
            lines = ((SingleOutputStreamOperator<String>) lines).setParallelism(1).rebalance();
        }
        lines.map(Parsers.of(o.parse)).returns(Types.TUPLE(Types.STRING, Types.LONG, Types.DOUBLE))
                .assignTimestampsAndWatermarks(WatermarkStrategy
                        .<Tuple3<String, Long, Double>>forBoundedOutOfOrderness(Duration.ofMillis(o.boundMillis))
                        .withTimestampAssigner((event, before) -> event.f1))
                .keyBy(event -> event.f0, Types.STRING)
                .window(TumblingEventTimeWindows.of(Duration.ofMillis(o.windowMillis)))
                .aggregate(new Totals(), new Totals.Named())
                .sinkTo(FileSink.forRowFormat(new org.apache.flink.core.fs.Path(output), new Totals.Lines())
                        .withRollingPolicy(OnCheckpointRollingPolicy.build())
                        .build());
        return env.execute("totals");
    }

    private static Configuration settings(Options o) {
        Configuration c = new Configuration();
        c.setString("execution.runtime-mode", "STREAMING");
        c.setString("pipeline.object-reuse", "true");
        c.setString("pipeline.generic-types", "false");
        c.setString("pipeline.auto-watermark-interval", "200ms");
        c.setString("execution.checkpointing.interval", o.checkpointMillis + "ms");
        c.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
        c.setString("execution.checkpointing.storage", "filesystem");
        c.setString("execution.checkpointing.dir", Path.of(o.scratch, "checkpoints").toUri().toString());
        c.setString("execution.checkpointing.incremental", "true");
        c.setString("restart-strategy.type", "none");
        c.setString("state.backend.type", o.state);
        c.setString("state.backend.rocksdb.localdir", o.scratch + "/rocksdb");
        c.setString("state.backend.forst.local-dir", o.scratch + "/forst");
        c.setString("taskmanager.numberOfTaskSlots", String.valueOf(o.parallelism));
        c.setString("taskmanager.memory.network.min", "256m");
        c.setString("taskmanager.memory.network.max", "256m");
        c.setString("taskmanager.memory.managed.size", o.state.equals("hashmap") ? "64m" : "1g"); // what RocksDB may have
        c.setString("io.tmp.dirs", o.scratch);
        return c;
    }

    private static String describe(Options o) {
        return String.format(Locale.ROOT, "Apache Flink %s, Java %s, heap %d MB, state %s, parse %s%s, parallelism %d, object reuse, checkpoint every %d ms, warm-up %d",
                EnvironmentInformation.getVersion(), System.getProperty("java.version"), Runtime.getRuntime().maxMemory() >> 20, o.state, o.parse,
                o.spread ? " spread" : "", o.parallelism, o.checkpointMillis, o.warmup);
    }

    private static long cpuNanos() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }
}
