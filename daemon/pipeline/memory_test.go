package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

// runShort runs a pipeline to its end with so many bytes of memory for windows.
func (r *rig) runShort(t require.TestingT, text string, memory int64) {
	plan, view := r.plan(text)
	plan.State.Memory = memory
	p := pipeline.New(plan, pipeline.Settings{Clock: r.clock, Plugins: view, StateDir: r.state, Log: hclog.NewNullLogger(), Workers: r.size})
	require.NoError(t, p.Run(context.Background()))
	s := p.Summary()
	require.NoError(t, s.Check())
}

// Without any memory for windows every checkpoint leaves them to the disk, a checkpoint follows every batch, and input is held until it has been made.
// Rows and late records are the same, in the same order (I2).
func TestWindowsOnDiskGiveTheSameRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(kindsOfWindow).Draw(rt, "window")
		bound := bounds.Draw(rt, "bound")
		source := &told{partitions: 1, events: records(rt, 0, 4*bound+1000)}
		text := func(batch int) string {
			return toldPipeline(kind.text, time.Duration(bound)*time.Millisecond, batch) + "[checkpoint]\ninterval = \"1ms\"\nmin_interval = \"0s\"\n"
		}
		want, wantLate := runTold(t, rt, source, text(4096), 1)
		r := newRig(t, source.plugin())
		r.size = rapid.IntRange(1, 5).Draw(rt, "shards")
		r.runShort(rt, text(rapid.SampledFrom([]int{1, 3, 4096}).Draw(rt, "batch")), 1)
		require.Equal(rt, want, r.got("out"))
		require.Equal(rt, wantLate, r.got("late"))
	})
}

// manyKeys is a file of a window of n keys, twice each and in another order the second time, the beginning of the next window, and records that are late.
func manyKeys(n int) []string {
	var lines []string
	add := func(key, ts int) {
		lines = append(lines, fmt.Sprintf(`{"k":"user%d","ts":%d,"v":%d.25}`, key, ts, key%1000))
	}
	for i := range n {
		add(i, 100+i%5000)
	}
	for i := range n {
		add((i*7+3)%n, 5000+i%4000)
	}
	add(1, 11_000)
	add(1, 12_500) // the watermark goes to 12,000: the first window fires, and is kept for a while
	add(2, 9_000)
	add(n+1, 9_100)
	add(2, 9_200)
	add(1, 25_000)
	add(3, 9_300) // and now it has been dropped
	return lines
}

// A window with far more keys than there is memory for goes out in the order of one in memory, late records find it on disk, and are late when it has gone.
func TestAWindowLargerThanMemory(t *testing.T) {
	const keys = 30_000
	for name, window := range map[string]string{
		"tumbling":   `{ type = "tumbling", size = "10s" }`,
		"sliding":    `{ type = "sliding", size = "10s", slide = "5s" }`,
		"cumulative": `{ type = "cumulative", size = "10s", step = "5s" }`,
		"session":    `{ type = "session", gap = "2500ms" }`,
	} {
		t.Run(name, func(t *testing.T) {
			text := func(r *rig) string {
				return fmt.Sprintf(`
[pipeline]
batch_rows = 512
[sources.in]
plugin = "file"
path = %q
[sources.in.time]
timestamp = "ts"
unit = "ms"
max_out_of_orderness = "500ms"
[transforms.w]
type = "window"
inputs = ["in"]
key_by = ["k"]
window = %s
allowed_lateness = "5s"
aggregate = { n = "count()", sum = "sum(v)", first = "first(ts)" }
[sinks.out]
plugin = "capture"
inputs = ["w"]
[sinks.late]
plugin = "capture"
as = "late"
inputs = ["w.late"]
columns = ["k", "ts"]
[checkpoint]
interval = "20ms"
`, r.file("in.jsonl", manyKeys(keys)...), window)
			}
			whole := newRig(t)
			whole.runShort(t, text(whole), 1<<30)
			short := newRig(t)
			short.runShort(t, text(short), 256<<10)
			require.Greater(t, len(whole.got("out")), keys)
			require.Equal(t, whole.got("out"), short.got("out"))
			require.NotEmpty(t, whole.got("late"))
			require.Equal(t, whole.got("late"), short.got("late"))
		})
	}
}

// What dedup remembers may be far more than there is memory for: the same records pass.
func TestDedupLargerThanMemory(t *testing.T) {
	const keys = 30_000
	text := func(r *rig) string {
		return fmt.Sprintf(`
[pipeline]
batch_rows = 512
[sources.in]
plugin = "file"
path = %q
[sources.in.time]
timestamp = "ts"
unit = "ms"
max_out_of_orderness = "500ms"
[transforms.once]
type = "dedup"
inputs = ["in"]
key_by = ["k"]
within = "6s"
[sinks.out]
plugin = "capture"
inputs = ["once"]
[checkpoint]
interval = "20ms"
`, r.file("in.jsonl", manyKeys(keys)...))
	}
	whole := newRig(t)
	whole.runShort(t, text(whole), 1<<30)
	short := newRig(t)
	short.runShort(t, text(short), 128<<10)
	require.Greater(t, len(whole.got("out")), keys)
	require.Less(t, len(whole.got("out")), 2*keys)
	require.Equal(t, whole.got("out"), short.got("out"))
}
