package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
)

type pair struct {
	User string `tidemark:"user"`
	TS   int64  `tidemark:"ts"`
}

// twice says every record twice, but for those of a user it does not like.
type twice struct{ seen int64 }

func (w *twice) Process(in pair, emit func(pair)) error {
	w.seen++
	if in.User == "bad" {
		return fmt.Errorf("no record of this user, and this was record %d", w.seen)
	}
	emit(in)
	emit(in)
	return nil
}

func (w *twice) Snapshot() ([]byte, error) { return []byte(fmt.Sprint(w.seen)), nil }
func (w *twice) Restore(state []byte) error {
	_, err := fmt.Sscan(string(state), &w.seen)
	return err
}

func TestATransformPlugin(t *testing.T) {
	plugin := sdk.NewTransform("twice", "says everything twice", func(struct{}) (sdk.Transform[pair, pair], error) { return &twice{}, nil })
	for _, failAt := range []int{0, 20} {
		t.Run(fmt.Sprint("the sink fails at row ", failAt), func(t *testing.T) {
			var lines []string
			for i := range 1000 {
				user := "good"
				if i%100 == 50 {
					user = "bad"
				}
				lines = append(lines, fmt.Sprintf("%s %d", user, i))
			}
			r := newRig(t, plugin)
			r.failAt = failAt
			p := r.pipeline(fmt.Sprintf(`
[pipeline]
batch_rows = 10
[sources.s]
plugin = "file"
path = %q
decode = { format = "delimited", fields = ["user", "ts:int"] }
[sources.s.time]
timestamp = "ts"
unit = "s"
[transforms.twice]
type = "plugin"
plugin = "twice"
isolation = "none"
inputs = ["s"]
[transforms.w]
type = "window"
inputs = ["twice"]
key_by = ["user"]
window = { type = "tumbling", size = "20s" }
[transforms.w.aggregate]
n = "count()"
[sinks.out]
plugin = "capture"
inputs = ["w"]
time_format = "epoch_ms"
[sinks.refused]
plugin = "capture"
as = "refused"
inputs = ["twice.errors"]
columns = ["message", "raw"]
[checkpoint]
interval = "2ms"
min_interval = "0s"
[restart]
backoff = "1ms"
`, r.file("in", lines...)))
			require.NoError(t, p.Run(context.Background()))
			require.Equal(t, pipeline.Finished, p.State())
			var want []string
			for start := range 50 {
				n := 40
				if start%5 == 2 {
					n = 38
				}
				want = append(want, fmt.Sprintf(`{"user":"good","window_start":%d,"window_end":%d,"n":%d}`, start*20000, start*20000+20000, n))
			}
			require.Equal(t, want, r.got("out"))
			refused := r.got("refused")
			require.Len(t, refused, 10)
			for i, row := range refused {
				require.True(t, strings.HasSuffix(row, fmt.Sprintf(`"raw":"bad %d"}`, i*100+50)), row)
				require.Contains(t, row, fmt.Sprintf("this was record %d", i*100+51), "its state came back with the commit")
			}
		})
	}
}
