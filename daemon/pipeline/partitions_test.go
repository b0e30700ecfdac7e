package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
)

// apart is a source of two partitions, of which one is always far ahead of the other. Its run stops in the middle until whole is set.
type apart struct{ whole *bool }

const apartRecords = 40

func (a apart) Run(ctx context.Context, out *sdk.SourceContext[pair]) error {
	ahead, behind := out.Partition("ahead"), out.Partition("behind")
	for i := range int64(apartRecords) {
		if i == apartRecords/2 && !*a.whole {
			if err := ahead.Flush(); err != nil {
				return err
			}
			if err := behind.Flush(); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		}
		if i >= ahead.Count() {
			if err := ahead.Collect(pair{"ahead", i + 1000}); err != nil {
				return err
			}
		}
		if i >= behind.Count() {
			if err := behind.Collect(pair{"behind", i}); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestAPartitionBehindTheOthersIsNotLateAfterARestart: what comes back first must not take the source's watermark beyond those that come
// back after it (I2, I4).
func TestAPartitionBehindTheOthersIsNotLateAfterARestart(t *testing.T) {
	whole := false
	r := newRig(t, sdk.NewSource("apart", "two partitions, far from each other", func(struct{}) (sdk.Source[pair], error) { return apart{&whole}, nil }))
	text := `
[sources.s]
plugin = "apart"
isolation = "none"
[sources.s.time]
timestamp = "ts"
unit = "s"
[transforms.w]
type = "window"
inputs = ["s"]
key_by = ["user"]
window = { type = "tumbling", size = "10s" }
[transforms.w.aggregate]
n = "count()"
[sinks.out]
plugin = "capture"
inputs = ["w"]
format = "text"
template = "{{.user}} {{.window_start}} {{.n}}"
time_format = "epoch_ms"
[checkpoint]
interval = "5ms"
`
	ctx, cancel := context.WithCancel(context.Background())
	p := r.pipeline(text)
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	require.Eventually(t, func() bool { return len(r.got("out")) > 0 }, 10*time.Second, 5*time.Millisecond, "the first window of the one behind")
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, pipeline.Stopped, p.State())
	whole = true

	rows, s := r.run(text)
	require.Zero(t, s.Late)
	var want []string
	for i := range 4 {
		want = append(want, fmt.Sprintf("behind %d 10", i*10_000))
	}
	for i := range 4 {
		want = append(want, fmt.Sprintf("ahead %d 10", 1_000_000+i*10_000))
	}
	require.Equal(t, want, rows)
}
