package window

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
)

// The cases in testdata/vectors are the rule book in numbers. They run record by record and in batches, in one shard and in three,
// and with a restart after every step; none of that may change anything.

type vectorCase struct {
	Name     string         `json:"name"`
	Windows  *vectorWindows `json:"windows"`
	Lateness int64          `json:"allowed_lateness_ms"`
	Agg      string         `json:"aggregate"`
	Trigger  *vectorTrigger `json:"trigger"`
	Steps    []vectorStep   `json:"steps"`
	Expect   []vectorExpect `json:"expect"`
	Late     int            `json:"late_total"`
	Silent   uint64         `json:"silent_total"`
	Live     []struct {
		After int `json:"after_step"`
		Count int `json:"count"`
	} `json:"live_windows"`
}

type vectorWindows struct {
	Type   string `json:"type"`
	Size   int64  `json:"size_ms"`
	Max    int64  `json:"max_size_ms"`
	Slide  int64  `json:"slide_ms"`
	Step   int64  `json:"step_ms"`
	Gap    int64  `json:"gap_ms"`
	Offset int64  `json:"offset_ms"`
	Time   string `json:"time"`
	Rules  []struct {
		Key   *string `json:"key"`
		Value *int64  `json:"value"`
		Gap   int64   `json:"gap_ms"`
	} `json:"gap_rules"`
}

type vectorTrigger struct {
	Type     string `json:"type"`
	Purging  bool   `json:"purging"`
	Count    int64  `json:"count"`
	Interval int64  `json:"interval_ms"`
}

type vectorEvent struct {
	Key   string `json:"key"`
	Value int64  `json:"value"`
	TS    int64  `json:"ts"`
}

type vectorStep struct {
	Event     *vectorEvent `json:"event"`
	Watermark *int64       `json:"watermark"`
	Clock     *int64       `json:"processing_time"`
	Restart   bool         `json:"restart"`
}

type vectorResult struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
	Start *int64          `json:"start"`
	End   *int64          `json:"end"`
	TS    int64           `json:"ts"`
}

type vectorExpect struct {
	After   int            `json:"after_step"`
	Results []vectorResult `json:"results"`
	Late    []vectorEvent  `json:"late"`
	Ordered bool           `json:"ordered"`
}

func readVectors[T any](t *testing.T, file string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "vectors", file+".json"))
	require.NoError(t, err)
	var cases []T
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	return cases
}

func (w *vectorWindows) spec() Spec {
	s := Spec{Type: Type(w.Type), Size: w.Size, Slide: w.Slide, Gap: w.Gap, Offset: w.Offset, ProcessingTime: w.Time == "processing"}
	if s.Type == Cumulative {
		s.Size, s.Slide = w.Max, w.Step
	}
	if w.Rules != nil {
		s.GapColumn = "gap"
	}
	return s
}

func (c *vectorCase) spec() Spec {
	s := c.Windows.spec()
	if !s.ProcessingTime && s.Type != Global { // elsewhere it means nothing (7.11), and the product says so
		s.Lateness = c.Lateness
	}
	if tr := c.Trigger; tr != nil {
		s.Trigger, s.Purging, s.Count, s.Interval = TriggerKind(tr.Type), tr.Purging, tr.Count, tr.Interval
	}
	return s
}

func (c *vectorCase) aggregates() []aggregate.Spec {
	switch c.Agg {
	case "list":
		return []aggregate.Spec{{Name: "value", Func: "collect", Arg: "value"}}
	case "count":
		return []aggregate.Spec{{Name: "value", Func: "count"}}
	}
	return []aggregate.Spec{{Name: "value", Func: c.Agg, Arg: "value"}}
}

func (c *vectorCase) row(e *vectorEvent) testRow {
	r := testRow{key: e.Key, value: e.Value, ts: e.TS, gap: -1}
	for _, rule := range c.Windows.Rules {
		if (rule.Key == nil || *rule.Key == e.Key) && (rule.Value == nil || *rule.Value == e.Value) {
			r.gap = rule.Gap
			break
		}
	}
	return r
}

// line is a result as the vectors write it, lists ascending.
func (c *vectorCase) line(r testResult) string {
	return fmt.Sprintf("%s %s [%v,%v) ts=%d", r.key, c.value(r.values[0]), r.start, r.end, r.ts)
}

func (c *vectorCase) value(text string) string {
	if c.Agg != "list" {
		return text
	}
	var values []int64
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return err.Error()
	}
	slices.Sort(values)
	return fmt.Sprint(values)
}

func (r vectorResult) line(c *vectorCase) string {
	var start, end any
	if r.Start != nil {
		start, end = *r.Start, *r.End
	}
	return fmt.Sprintf("%s %s [%v,%v) ts=%d", r.Key, c.value(string(bytes.TrimSpace(r.Value))), start, end, r.TS)
}

type vectorRun struct {
	batches  bool
	shards   int
	restarts bool
}

// run plays a case and returns, for each step, the results and the late events, as lines.
func (c *vectorCase) run(t *testing.T, e engine, how vectorRun) (results, late [][]string) {
	r := newRig(t, e, c.spec(), false, how.shards, c.aggregates()...)
	results, late = make([][]string, len(c.Steps)), make([][]string, len(c.Steps))
	live := map[int]int{}
	for _, l := range c.Live {
		live[l.After] = l.Count
	}
	for i := 0; i < len(c.Steps); i++ {
		step := c.Steps[i]
		var got []testResult
		first := i
		switch {
		case step.Event != nil:
			rows := []testRow{c.row(step.Event)}
			for how.batches && i+1 < len(c.Steps) && c.Steps[i+1].Event != nil {
				i++
				rows = append(rows, c.row(c.Steps[i].Event))
			}
			got = r.process(rows...)
		case step.Watermark != nil:
			got = r.advance(*step.Watermark)
		case step.Clock != nil:
			got = r.clock(*step.Clock)
		case step.Restart:
			r.restart(how.shards)
		}
		for _, res := range got {
			at := first + int(res.place)
			results[at] = append(results[at], c.line(res))
		}
		for _, row := range r.late {
			at := first + slices.Index(r.rows, row)
			late[at] = append(late[at], fmt.Sprint(row.key, row.value, row.ts))
		}
		r.late = r.late[:0]
		if n, ok := live[i]; ok {
			require.Equal(t, n, r.live(), "windows after step %d", i)
		}
		if how.restarts {
			r.restart(1 + i%3)
		}
	}
	require.Equal(t, c.Silent, r.silent, "silent rows")
	return results, late
}

func (c *vectorCase) check(t *testing.T, e engine, how vectorRun) {
	got, late := c.run(t, e, how)
	expect := map[int]vectorExpect{}
	for _, x := range c.Expect {
		expect[x.After] = x
	}
	total := 0
	for i := range c.Steps {
		x := expect[i]
		var want, wantLate []string
		for _, r := range x.Results {
			want = append(want, r.line(c))
		}
		for _, l := range x.Late {
			wantLate = append(wantLate, fmt.Sprint(l.Key, l.Value, l.TS))
		}
		total += len(late[i])
		if x.Ordered {
			require.Equal(t, want, got[i], "step %d", i)
		} else {
			require.ElementsMatch(t, want, got[i], "step %d", i)
		}
		require.ElementsMatch(t, wantLate, late[i], "late in step %d", i)
	}
	require.Equal(t, c.Late, total, "late events")
}

func engines() []engine { return []engine{generalEngine, paneEngine} }

func TestVectors(t *testing.T) {
	for _, file := range []string{"tumbling", "sliding", "session", "cumulative", "lateness", "triggers", "global", "proctime"} {
		for _, c := range readVectors[vectorCase](t, file) {
			for _, e := range engines() {
				layout, err := aggregate.New(c.aggregates())
				require.NoError(t, err)
				if !e.can(c.spec(), layout) {
					continue
				}
				for _, how := range []vectorRun{{shards: 1}, {shards: 3}, {shards: 1, batches: true}, {shards: 2, restarts: true}, {shards: 3, batches: true, restarts: true}} {
					t.Run(fmt.Sprintf("%s/%s/%s/%+v", file, c.Name, e.name, how), func(t *testing.T) { c.check(t, e, how) })
				}
			}
		}
	}
}

func TestVectorsOfAssignment(t *testing.T) {
	type assignCase struct {
		Name   string         `json:"name"`
		Assign *vectorWindows `json:"assign"`
		Start  *vectorWindows `json:"window_start"`
		Bad    bool           `json:"invalid"`
		Cases  []struct {
			TS      int64       `json:"ts"`
			Windows [][2]*int64 `json:"windows"`
			Start   int64       `json:"start"`
		} `json:"cases"`
	}
	for _, c := range readVectors[assignCase](t, "assign") {
		t.Run(c.Name, func(t *testing.T) {
			if c.Start != nil {
				for _, x := range c.Cases {
					require.Equal(t, x.Start, x.TS-sinceStart(x.TS, c.Start.Offset, c.Start.Size), "ts %d", x.TS)
				}
				return
			}
			spec := c.Assign.spec()
			if c.Bad {
				require.NotEmpty(t, spec.Check())
				return
			}
			require.Empty(t, spec.Check())
			for _, x := range c.Cases {
				var want []Span
				for _, w := range x.Windows {
					if w[0] == nil {
						want = append(want, globalSpan)
						continue
					}
					want = append(want, Span{*w[0], *w[1]})
				}
				require.ElementsMatch(t, want, spec.Assign(x.TS, nil), "ts %d", x.TS)
			}
		})
	}
}

type spans []Span

func (s spans) len() int        { return len(s) }
func (s spans) span(i int) Span { return s[i] }

func TestVectorsOfMerging(t *testing.T) {
	type mergeCase struct {
		Name  string `json:"name"`
		Steps []struct {
			Add    *[2]int64 `json:"add"`
			Retire *[2]int64 `json:"retire"`
		} `json:"steps"`
		Expect []struct {
			After    int        `json:"after_step"`
			Window   [2]int64   `json:"window"`
			Merged   bool       `json:"merged"`
			Sources  [][2]int64 `json:"sources"`
			Sessions [][2]int64 `json:"sessions"`
		} `json:"expect"`
	}
	toSpans := func(in [][2]int64) (out []Span) {
		for _, w := range in {
			out = append(out, Span{w[0], w[1]})
		}
		return out
	}
	for _, c := range readVectors[mergeCase](t, "merge") {
		t.Run(c.Name, func(t *testing.T) {
			var live spans
			next := 0
			for i, step := range c.Steps {
				if step.Retire != nil {
					k := slices.Index(live, Span{step.Retire[0], step.Retire[1]})
					require.GreaterOrEqual(t, k, 0)
					live = slices.Delete(live, k, k+1)
					continue
				}
				own := Span{step.Add[0], step.Add[1]}
				from, to, whole := placeSession(live, own, math.MaxInt64)
				sources := slices.Clone(live[from:to])
				live = slices.Replace(live, from, to, whole)
				if next == len(c.Expect) || c.Expect[next].After != i {
					continue
				}
				x := c.Expect[next]
				next++
				require.Equal(t, Span{x.Window[0], x.Window[1]}, whole, "step %d", i)
				merged := len(sources) > 1 || len(sources) == 1 && sources[0] != whole
				require.Equal(t, x.Merged, merged, "step %d", i)
				if x.Sources != nil {
					require.ElementsMatch(t, toSpans(x.Sources), []Span(sources), "step %d", i)
				}
				if x.Sessions != nil {
					require.ElementsMatch(t, toSpans(x.Sessions), []Span(live), "step %d", i)
				}
			}
			require.Equal(t, len(c.Expect), next)
		})
	}
}
