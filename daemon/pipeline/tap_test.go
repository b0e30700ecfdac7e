package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

// Who taps a source or a sink sees some of the rows that pass, whole, and the pipeline gives what it would give without.
func TestATapShowsASample(t *testing.T) {
	var lines []string
	for i := range 4000 {
		lines = append(lines, fmt.Sprintf("%c %d", 'a'+i%3, i))
	}
	source := &slow{lines: lines, steps: make(chan int)}
	r := newRig(t, source.plugin())
	p := r.pipeline(slowPipeline)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	first := make(chan string, 2)
	var in, out []pipeline.TapRow
	go func() {
		ended <- p.Tap(ctx, "in", 20, func(row pipeline.TapRow) error { in = append(in, row); return slowly(ctx, len(in), first) })
	}()
	go func() {
		ended <- p.Tap(ctx, "out", 20, func(row pipeline.TapRow) error { out = append(out, row); return slowly(ctx, len(out), first) })
	}()
	require.ErrorContains(t, p.Tap(ctx, "w", 20, nil), `no source and no sink named "w"`)

	done := make(chan error, 1)
	go func() { done <- p.Run(context.Background()) }()
	for range 40 {
		source.steps <- 100
	}
	require.NoError(t, <-done, "nobody waits for those who look")
	<-first
	<-first
	cancel()
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	require.Regexp(t, `^[abc] \d+$`, in[0].Row)
	require.Contains(t, out[0].Row, `"n":`)
	require.Less(t, len(in), 4000, "a sample")
	require.Len(t, r.got("out"), 1200)
}

// slowly takes its time from the second row on.
func slowly(ctx context.Context, n int, first chan<- string) error {
	if n == 1 {
		first <- "a row"
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Minute):
	}
	return nil
}
