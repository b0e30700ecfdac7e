// Benthos does the benchmark's job: a file of JSON lines, count, sum, min and max per key and tumbling event-time window, a file.
//
// It is made of Benthos' public packages, with one processor of our own. Benthos has windows only as the buffer system_window, which follows the
// clock: a replay is late as a whole. So the processor of this program does the windows, in memory and by a watermark, as a user of Benthos would
// have to. What Benthos does not have stays away: state that outlives a restart, results exactly once, parallel keys. It is told what to do by
// BENCH_… variables; see Peer in Tidemark's package bench.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"
)

// The file is read by the input, in batches; parsing is a processor of the input and so runs beside the windows, which need the records in their
// order and therefore one thread. Nothing is read again after a failure, which saves the input its own bookkeeping. The last input tells the
// windows that nothing follows.
const stream = `
input:
  sequence:
    inputs:
      - batched:
          child:
            file:
              paths: [ %q ]
              scanner: { lines: {} }
              auto_replay_nacks: false
          policy: { count: 1000 }
        processors:
          - parse_event: { method: %s }
      - generate: { count: 1, interval: "", mapping: 'root = {"end":true}' }
pipeline:
  threads: 1
  processors:
    - event_time_totals: { size_ms: %d, bound_ms: %d }
output:
  file: { path: %q, codec: lines }
logger: { level: WARN }
metrics: { none: {} }
http: { enabled: false }
`

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "benthos peer:", err)
		os.Exit(1)
	}
}

func run() error {
	method := "structured"
	for i := 1; i < len(os.Args); i++ {
		if os.Args[i] != "--parse" || i+1 == len(os.Args) {
			return fmt.Errorf("%s: there is --parse structured (as Benthos' own processors do), or --parse struct (encoding/json)", os.Args[i])
		}
		i++
		method = os.Args[i]
	}
	input, output := os.Getenv("BENCH_INPUT"), os.Getenv("BENCH_OUTPUT")
	size, err := strconv.ParseInt(os.Getenv("BENCH_WINDOW_MS"), 10, 64)
	if err != nil || input == "" || output == "" {
		return fmt.Errorf("BENCH_INPUT, BENCH_OUTPUT and BENCH_WINDOW_MS say what to do; `tidemark bench --peer` sets them")
	}
	bound, err := strconv.ParseInt(os.Getenv("BENCH_BOUND_MS"), 10, 64)
	if err != nil {
		return fmt.Errorf("BENCH_BOUND_MS: %w", err)
	}
	if err := register(); err != nil {
		return err
	}
	b := service.NewStreamBuilder()
	if err := b.SetYAML(fmt.Sprintf(stream, input, method, size, bound, filepath.Join(output, "results.jsonl"))); err != nil {
		return err
	}
	s, err := b.Build()
	if err != nil {
		return err
	}
	begun := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	select {
	case err := <-failed:
		return err // the stream would go on without the batch, and its input wait for it
	case err := <-ended:
		if err != nil {
			return err
		}
	}
	return tell(os.Getenv("BENCH_STATS"), time.Since(begun), method)
}

// tell writes what ran and what it took: the start of this program takes next to nothing, so all its processor time is the job's.
func tell(path string, took time.Duration, method string) error {
	if path == "" {
		return nil
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{
		"seconds": took.Seconds(), "cpu_seconds": float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9,
		"version": fmt.Sprintf("Benthos %s, %s, parse %s, batches of 1000, windows in memory by a processor of our own, no checkpoints", version(), runtime.Version(), method),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// version is that of Benthos.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if strings.HasPrefix(m.Path, "github.com/redpanda-data/benthos/") {
				return m.Version
			}
		}
	}
	return "of an unknown version"
}
