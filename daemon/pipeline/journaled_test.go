package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
)

// once is a source that says everything once, whatever happens to whoever listens.
type once struct {
	mu    sync.Mutex
	lines []string
}

func (o *once) plugin() sdk.Plugin {
	return sdk.NewSource("once", "says everything once", func(struct{}) (sdk.Source[string], error) { return o, nil }, sdk.NotReplayable())
}

func (o *once) Run(ctx context.Context, out *sdk.SourceContext[string]) error {
	p := out.Partition("p")
	for {
		o.mu.Lock()
		if len(o.lines) == 0 {
			o.mu.Unlock()
			return nil
		}
		line := o.lines[0]
		o.mu.Unlock()
		if err := p.Collect(line); err != nil {
			return err // it was not taken, and will be said again
		}
		o.mu.Lock()
		o.lines = o.lines[1:]
		o.mu.Unlock()
	}
}

// A sink that fails in the middle ends the attempt; the next one goes on from the last commit. What the source has said by then it will not
// say again, so it has to come from the journal.
func TestASourceThatSpeaksOnceLosesNothingInARestart(t *testing.T) {
	var lines []string
	want := map[string]int{}
	for i := range 3000 {
		lines = append(lines, fmt.Sprintf("u%d %d", i%7, i/10))
		want[fmt.Sprintf(`{"user":"u%d","window_start":%d,"window_end":%d,"events":`, i%7, i/10/5*5000, i/10/5*5000+5000)]++
	}
	for _, failAt := range []int{1, 100, 250} {
		t.Run(fmt.Sprint("fails at ", failAt), func(t *testing.T) {
			o := &once{lines: append([]string(nil), lines...)}
			r := newRig(t, o.plugin())
			r.failAt = failAt
			p := r.pipeline(`
[pipeline]
batch_rows = 50
[sources.s]
plugin = "once"
decode = { format = "delimited", fields = ["user", "ts:int"] }
[sources.s.time]
timestamp = "ts"
unit = "s"
[transforms.w]
type = "window"
inputs = ["s"]
key_by = ["user"]
window = { type = "tumbling", size = "5s" }
[transforms.w.aggregate]
events = "count()"
[sinks.out]
plugin = "capture"
inputs = ["w"]
time_format = "epoch_ms"
[checkpoint]
interval = "5ms"
min_interval = "0s"
[restart]
backoff = "1ms"
`)
			require.NoError(t, p.Run(context.Background()))
			require.Equal(t, pipeline.Finished, p.State())
			sum := p.Summary()
			require.Equal(t, 1, sum.Restarts)
			require.NoError(t, sum.Check(), "the accounts are those since the restart")
			require.NotEmpty(t, sum.Balance)
			require.Contains(t, strings.Join(sum.Remarks(), "\n"), "restarted 1 time: ")
			var rows []string
			for prefix, n := range want {
				rows = append(rows, fmt.Sprint(prefix, n, "}"))
			}
			require.Equal(t, strings.Join(sorted(rows), "\n"), strings.Join(sorted(r.got("out")), "\n"))
		})
	}
}
