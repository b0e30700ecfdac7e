package host

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// cpu is the time that this process and the plugin have spent, in ns. The plugin's is counted in hundredths of a second.
func cpu(b *testing.B, pid int) int64 {
	var own syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return own.Utime.Nano() + own.Stime.Nano() + (user+system)*10_000_000
}

// BenchmarkSourceProcess is the cost of the boundary for a source: 109-byte lines, one way. An operation is a row.
func BenchmarkSourceProcess(b *testing.B) {
	h, err := New(Settings{Dirs: []string{pluginDir}})
	require.NoError(b, err)
	defer h.Close()
	for _, rows := range []int{1200, 4096} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			s, err := h.Plugins(nil, "").OpenSource(context.Background(), wire.SourceOpen{Plugin: "blob", Options: fmt.Appendf(nil, `{"rows":%d}`, rows)}, OwnProcess)
			require.NoError(b, err)
			defer s.Close()
			pid := h.Processes()[0].PID
			before := cpu(b, pid)
			b.ReportAllocs()
			b.ResetTimer()
			n := 0
			for n < b.N {
				e, err := s.Recv()
				require.NoError(b, err)
				if e.Batch != nil {
					n += e.Batch.N
					e.Batch.Release()
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(cpu(b, pid)-before)/float64(n), "cpu-ns/row")
		})
	}
}

// BenchmarkAssignerProcess is the cost of the boundary for an assigner that sees the timestamps only. An operation is a row.
func BenchmarkAssignerProcess(b *testing.B) {
	h, err := New(Settings{Dirs: []string{pluginDir}})
	require.NoError(b, err)
	defer h.Close()
	for _, c := range []struct {
		name, plugin string
		columns      bool
		rows         int
	}{{"columns", "highest", false, 1200}, {"columns", "highest", false, 4096}, {"records", "bounded", true, 1200}} {
		b.Run(fmt.Sprintf("%s/rows=%d", c.name, c.rows), func(b *testing.B) {
			a, err := h.Plugins(nil, "").OpenAssigner(context.Background(), wire.AssignerOpen{Plugin: c.plugin, EveryRecord: true, Bucket: 5000}, OwnProcess)
			require.NoError(b, err)
			defer a.Close()
			require.NoError(b, a.AddPartition(0, "p", nil))
			pid := h.Processes()[0].PID
			free := make(chan *batch.Batch, wire.Credits)
			for range wire.Credits {
				x := events(c.rows, func(i int) int64 { return int64(i) })
				if !c.columns {
					x.Columns = nil
				}
				for i := range x.N {
					x.Times = append(x.Times, int64(i))
				}
				free <- x
			}
			before := cpu(b, pid)
			b.ReportAllocs()
			b.ResetTimer()
			rounds := b.N/c.rows + 1
			go func() {
				for range rounds {
					if a.Assign(<-free) != nil {
						return
					}
				}
			}()
			for range rounds {
				e, err := a.Recv()
				require.NoError(b, err)
				free <- e.Batch
			}
			b.StopTimer()
			b.ReportMetric(float64(cpu(b, pid)-before)/float64(rounds*c.rows), "cpu-ns/row")
		})
	}
}
