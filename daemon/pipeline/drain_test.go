package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
)

// A pipeline whose input never ends gives, when it is drained, what it would have given if the input had ended there: also when it fails on the
// way and begins again, and when the drain is asked for before it has begun.
func TestADrainIsTheEndOfTheInput(t *testing.T) {
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("%c %d", 'a'+i%3, i))
	}
	text := func(r *rig, follow string) string {
		return strings.Replace(slowPipeline, `plugin = "slow"`, fmt.Sprintf("plugin = \"file\"\npath = %q\n%s", r.file("in", lines...), follow), 1) +
			"[restart]\nbackoff = \"1ms\"\n"
	}
	once := newRig(t)
	want, _ := once.run(text(once, ""))
	require.Len(t, want, 150)

	for name, failAt := range map[string]int{"smoothly": 0, "with a failure": len(want) - 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.failAt = failAt
			p := r.pipeline(text(r, "follow = true"))
			done := make(chan error, 1)
			go func() { done <- p.Run(context.Background()) }()
			for p.Records() < int64(len(lines)) {
				time.Sleep(time.Millisecond)
			}
			require.Equal(t, pipeline.Running, p.State())
			p.Drain()
			p.Drain()
			require.NoError(t, <-done)
			require.Equal(t, pipeline.Finished, p.State())
			s := p.Summary()
			require.NoError(t, s.Check())
			require.Equal(t, want, r.got("out"))
		})
	}

	r := newRig(t)
	p := r.pipeline(text(r, "follow = true"))
	p.Drain()
	require.NoError(t, p.Run(context.Background()))
	require.Equal(t, pipeline.Finished, p.State())
}

// deafSink takes nothing until it hears.
type deafSink struct {
	given chan struct{} // told when it has refused something
	hears atomic.Bool
	rows  atomic.Int64 // taken
}

func (s *deafSink) Write(_ context.Context, d sdk.Rows) error {
	if s.hears.Load() {
		s.rows.Add(int64(d.Len()))
		return nil
	}
	select {
	case s.given <- struct{}{}:
	default:
	}
	return errors.New("not now")
}

func (s *deafSink) Close() error { return nil }

// A stop cuts a drain off that waits for a sink. What the drain has committed stands: the results wait in the state for the next run.
func TestAStopCutsADrainOff(t *testing.T) {
	sink := &deafSink{given: make(chan struct{}, 1)}
	deaf := sdk.NewSink("deaf", "takes nothing", sdk.SinkTraits{Delivery: sdk.AtLeastOnce, Text: true},
		func(context.Context, struct{}) (sdk.Sink, error) { return sink, nil })
	r := newRig(t, deaf)
	text := strings.Replace(slowPipeline, `plugin = "slow"`, fmt.Sprintf("plugin = \"file\"\nfollow = true\npath = %q", r.file("in", "a 1", "a 5")), 1)
	text = strings.Replace(text, `plugin = "capture"`, `plugin = "deaf"`, 1)
	p := r.pipeline(text)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	for p.Records() < 2 {
		time.Sleep(time.Millisecond)
	}
	p.Drain()
	<-sink.given // no window is complete before the drain
	require.Equal(t, pipeline.Draining, p.State())
	require.Equal(t, []string{"it drains"}, p.NotReady())
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, pipeline.Stopped, p.State())

	sink.hears.Store(true)
	again := r.pipeline(text)
	again.Drain()
	require.NoError(t, again.Run(context.Background()))
	require.EqualValues(t, 1, sink.rows.Load())
}
