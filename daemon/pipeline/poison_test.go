package pipeline_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// frail are plugins that panic at some records, as often as they meet them, and now and then at a call that has nothing to do with the
// record.
type frail struct {
	mu     sync.Mutex
	poison map[int64]bool
	chance []int // numbers of calls, over all attempts, at which they panic
	calls  int
	met    map[int64]int // how often each record was met
}

func (f *frail) meet(p pair) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	f.met[p.TS]++
	for _, n := range f.chance {
		if n == f.calls {
			panic("a cosmic ray")
		}
	}
	if f.poison[p.TS] {
		panic(fmt.Sprint("record ", p.TS, " is poison"))
	}
}

type frailAssigner struct {
	*frail
	high int64
}

func (f *frailAssigner) ExtractTimestamp(p pair, previous int64) int64 {
	f.meet(p)
	f.high = max(f.high, previous)
	return previous
}
func (f *frailAssigner) CurrentWatermark() sdk.Watermark { return sdk.Watermark(f.high - 1) }
func (f *frailAssigner) Snapshot() ([]byte, error)       { return fmt.Append(nil, f.high), nil }
func (f *frailAssigner) Restore(state []byte) error {
	_, err := fmt.Sscan(string(state), &f.high)
	return err
}

type frailTransform struct{ *frail }

func (f frailTransform) Process(p pair, emit func(pair)) error {
	f.meet(p)
	emit(p)
	return nil
}

func TestPoisonIsFoundAndTheRestGoesOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		poison []int64
		chance []int
	}{
		{"one record", []int64{555}, nil},
		{"neighbours", []int64{555, 556, 557}, nil},
		{"the first and the last", []int64{0, 999}, nil},
		{"nothing but chance", nil, []int{3, 77, 300, 301, 940, 2000}},
		{"both", []int64{120, 700}, []int{5, 130, 131, 640, 1500}},
	} {
		for _, kind := range []string{"assigner", "transform"} {
			for _, rows := range []int{1, 128} {
				t.Run(fmt.Sprintf("%s/%s/%d", c.name, kind, rows), func(t *testing.T) {
					f := &frail{poison: map[int64]bool{}, chance: c.chance, met: map[int64]int{}}
					if rows == 1 { // two failures in a row with the same record alone are what convicts it
						f.chance = nil
						for i, n := range c.chance {
							if i == 0 || n > c.chance[i-1]+1 {
								f.chance = append(f.chance, n)
							}
						}
					}
					for _, n := range c.poison {
						f.poison[n] = true
					}
					var lines []string
					for i := range 1000 {
						lines = append(lines, fmt.Sprintf("user%d %d", i%3, i))
					}
					r := newRig(t,
						sdk.NewPeriodicAssigner("frail", "", func(struct{}) (sdk.PeriodicAssigner[pair], error) { return &frailAssigner{frail: f}, nil }),
						sdk.NewTransform("frail", "", func(struct{}) (sdk.Transform[pair, pair], error) { return frailTransform{f}, nil }))
					assigner, step, input := "assigner = \"frail\"", "", "s"
					if kind == "transform" {
						assigner, input = "", "t"
						step = "[transforms.t]\ntype = \"plugin\"\nplugin = \"frail\"\nisolation = \"none\"\ninputs = [\"s\"]\n"
					}
					p := r.pipeline(fmt.Sprintf(`
[pipeline]
batch_rows = %d
[sources.s]
plugin = "file"
path = %q
decode = { format = "delimited", fields = ["user", "ts:int"] }
[sources.s.time]
timestamp = "ts"
unit = "s"
%s
%s
[transforms.w]
type = "window"
inputs = [%q]
key_by = ["user"]
window = { type = "tumbling", size = "50s" }
[transforms.w.aggregate]
n = "count()"
[sinks.out]
plugin = "capture"
inputs = ["w"]
template = "{{.user}} {{.window_start}} {{.n}}"
format = "text"
time_format = "epoch_ms"
[sinks.refused]
plugin = "capture"
as = "refused"
inputs = ["%s.errors"]
format = "text"
template = "{{.reason}} {{.raw}} {{.message}}"
[checkpoint]
interval = "2ms"
min_interval = "0s"
[restart]
backoff = "1ms"
max_backoff = "2ms"
`, rows, r.file("in", lines...), assigner, step, input, input))
					require.NoError(t, p.Run(context.Background()))
					require.Equal(t, pipeline.Finished, p.State())
					summary := p.Summary()
					require.NoError(t, summary.Check())

					var refused []string
					for _, n := range c.poison {
						refused = append(refused, fmt.Sprintf("poison user%d %d", n%3, n))
					}
					got := r.got("refused")
					require.Len(t, got, len(refused), "%v", got)
					for i, row := range got {
						require.True(t, strings.HasPrefix(row, refused[i]+" "), row)
						require.Contains(t, row, "is poison", "the message says what the plugin said")
					}
					counts := map[string]int{}
					for i := range int64(1000) {
						if !f.poison[i] {
							counts[fmt.Sprintf("user%d %d", i%3, i/50*50_000)]++
						}
					}
					var want []string
					for k, n := range counts {
						want = append(want, fmt.Sprintf("%s %d", k, n))
					}
					require.Equal(t, sorted(want), sorted(r.got("out")))
				})
			}
		}
	}
}

// Each life of the pipeline ends with its first failure. What one has found out the next one knows.
func TestTheSearchForPoisonGoesOnInTheNextLife(t *testing.T) {
	for _, kind := range []string{"assigner", "transform"} {
		r, _, text := shortLives(t, kind)
		lives := 0
		for ; lives < 12; lives++ {
			if r.pipeline(text).Run(context.Background()) == nil {
				break
			}
		}
		require.Less(t, lives, 12, "%s: the poison is never found", kind)
		require.Equal(t, []string{"poison user0 555", "poison user1 901"}, r.got("refused"), kind)
		require.Len(t, r.got("out"), 998, kind)

		// The search has left nothing behind.
		store, err := state.Open(filepath.Join(r.state, pipeline.StateFolder), state.Options{ReadOnly: true})
		require.NoError(t, err)
		require.NoError(t, store.ScanMeta(keys.Name(nil).Text("poison"), func(name, _ []byte) error { return fmt.Errorf("left behind: %q", name) }))
		require.NoError(t, store.Close())
	}
}

// The plugin has failed with a record until it was convicted, and the pipeline has ended with that. Whoever mends the plugin then, as the message says,
// has the record processed.
func TestAMendedPluginGetsTheRecord(t *testing.T) {
	for _, kind := range []string{"assigner", "transform"} {
		r, f, text := shortLives(t, kind)
		for range 3 { // among others, alone, alone again
			require.Error(t, r.pipeline(text).Run(context.Background()), kind)
		}
		f.mu.Lock()
		f.poison = nil
		f.mu.Unlock()
		require.NoError(t, r.pipeline(text).Run(context.Background()), kind)
		require.Empty(t, r.got("refused"), kind)
		require.Len(t, r.got("out"), 1000, kind)
	}
}

// shortLives is a pipeline of which each life ends with the first failure of its plugin, which two of its 1,000 records cause.
func shortLives(t *testing.T, kind string) (r *rig, f *frail, text string) {
	f = &frail{poison: map[int64]bool{555: true, 901: true}, met: map[int64]int{}}
	r = newRig(t,
		sdk.NewPeriodicAssigner("frail", "", func(struct{}) (sdk.PeriodicAssigner[pair], error) { return &frailAssigner{frail: f}, nil }),
		sdk.NewTransform("frail", "", func(struct{}) (sdk.Transform[pair, pair], error) { return frailTransform{f}, nil }))
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("user%d %d", i%3, i))
	}
	assigner, step, input := "assigner = \"frail\"", "", "s"
	if kind == "transform" {
		assigner, input = "", "t"
		step = "[transforms.t]\ntype = \"plugin\"\nplugin = \"frail\"\nisolation = \"none\"\ninputs = [\"s\"]\n"
	}
	text = fmt.Sprintf(`
[pipeline]
batch_rows = 64
[sources.s]
plugin = "file"
path = %q
decode = { format = "delimited", fields = ["user", "ts:int"] }
[sources.s.time]
timestamp = "ts"
unit = "s"
%s
%s
[sinks.out]
plugin = "capture"
inputs = [%q]
format = "text"
template = "{{.ts}}"
[sinks.refused]
plugin = "capture"
as = "refused"
inputs = ["%s.errors"]
format = "text"
template = "{{.reason}} {{.raw}}"
[checkpoint]
interval = "2ms"
min_interval = "0s"
[restart]
max_attempts = 1
`, r.file("in", lines...), assigner, step, input, input)
	return r, f, text
}
