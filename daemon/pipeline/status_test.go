package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

const marked = `
[sources.in]
plugin = "file"
path = %q
follow = %t
[sources.in.time]
assigner = "marker"
timestamp = "ts"
unit = "ms"
marker = "type == 'wm'"
max_ahead = "1h"

[transforms.counts]
type = "window"
inputs = ["in"]
key_by = ["k"]
window = { type = "tumbling", size = "10s" }
aggregate = { n = "count()" }

[sinks.out]
plugin = "capture"
inputs = ["counts"]
time_format = "epoch_ms"
`

// Markers come out of order (trial 011), and one has a clock of its own: they are ignored, counted and told.
func TestMarkersThatAreIgnoredAreCounted(t *testing.T) {
	now := time.Now().UnixMilli()
	r := newRig(t)
	_, s := r.run(fmt.Sprintf(marked, r.file("in",
		`{"type":"data","k":"a","ts":1700000004000}`, `{"type":"wm","ts":1700000010000}`, `{"type":"wm","ts":1700000007000}`,
		`{"type":"data","k":"a","ts":1700000012000}`, `{"type":"wm","ts":1700000020000}`, `{"type":"wm","ts":1700000015000}`,
		fmt.Sprintf(`{"type":"wm","ts":%d}`, now+100*24*3600_000)), false))
	require.EqualValues(t, 2, s.Sources[0].Ignored)
	require.Contains(t, strings.Join(s.Remarks(), "\n"), "2 watermarks were ignored")
}

// A running pipeline tells where it stands, what holds it, and what a window waits for, without waiting for anything itself.
func TestStatusAndExplanation(t *testing.T) {
	r := newRig(t)
	p := r.pipeline(fmt.Sprintf(marked, r.file("in",
		`{"type":"data","k":"a","ts":1700000004000}`, `{"type":"wm","ts":1700000010000}`, `{"type":"data","k":"a","ts":1700000012000}`), true))
	require.Empty(t, p.Status().Sources, "nothing runs yet")
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	require.Eventually(t, func() bool {
		s := p.Status()
		return len(s.Steps) == 1 && s.Steps[0].Watermark == 1700000010000
	}, 30*time.Second, time.Millisecond)
	s := p.Status()
	require.Equal(t, pipeline.Running, s.State)
	require.Equal(t, "active", s.Sources[0].State)
	require.Len(t, s.Sources[0].Partitions, 1)
	require.Contains(t, s.Sources[0].Holds.Why, "has stood at 2023-11-14T22:13:30Z")

	done, err := p.Explain("counts", 1700000004000)
	require.NoError(t, err)
	require.True(t, done.Due)
	open, err := p.Explain("counts", 1700000012000)
	require.NoError(t, err)
	require.False(t, open.Due)
	require.EqualValues(t, 1700000019999, open.Fires)
	require.Len(t, open.Waits, 1)
	require.Contains(t, open.Waits[0], "source in (active) stands at 2023-11-14T22:13:30Z: partition")
	_, err = p.Explain("nobody", 0)
	require.ErrorContains(t, err, "no windows")
	stop()
	require.NoError(t, <-ended)
}

// Seconds declared as milliseconds (trial 014): said once, and every such time counted.
func TestTimesInAnotherUnitAreCounted(t *testing.T) {
	r := newRig(t)
	text := strings.NewReplacer(`assigner = "marker"`, "", `marker = "type == 'wm'"`, "").Replace(marked)
	_, s := r.run(fmt.Sprintf(text, r.file("in", `{"k":"a","ts":1700000004}`, `{"k":"a","ts":1700000005}`, `{"k":"a","ts":1700000006}`), false))
	require.EqualValues(t, 3, s.Sources[0].Suspect)
	require.Contains(t, strings.Join(s.Remarks(), "\n"), "3 timestamps lie outside of 1990 to 2100")
}
