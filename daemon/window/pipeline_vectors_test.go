package window

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// TestVectorsOfPipelines puts package watermark's partitions in front of an operator: a record goes to the operator first, then the
// watermark that it has caused.
func TestVectorsOfPipelines(t *testing.T) {
	type stepOfPipeline struct {
		Partition string       `json:"partition"`
		Event     *vectorEvent `json:"event"`
		Punctuate bool         `json:"punctuate"`
		Marker    *int64       `json:"marker_ts"`
		Advance   int64        `json:"advance_ms"`
		Tick      bool         `json:"tick"`
		Add       string       `json:"add_partition"`
		Remove    string       `json:"remove_partition"`
		End       bool         `json:"end"`
	}
	type pipelineCase struct {
		Name     string `json:"name"`
		Variant  string `json:"variant"`
		Pipeline struct {
			Partitions []string `json:"partitions"`
			Generator  struct {
				Type  string `json:"type"`
				Bound int64  `json:"bound_ms"`
			} `json:"generator"`
			Idle int64 `json:"idle_timeout_ms"`
			vectorCase
		} `json:"pipeline"`
		Steps  []stepOfPipeline `json:"steps"`
		Expect []struct {
			After  int `json:"after_step"`
			Source []struct {
				Watermark *int64 `json:"watermark"`
				Idle      bool   `json:"idle"`
				Active    bool   `json:"active"`
			} `json:"source"`
			Results []vectorResult `json:"results"`
			Late    []vectorEvent  `json:"late"`
		} `json:"expect"`
		Late int `json:"late_total"`
	}
	play := func(t *testing.T, c *pipelineCase, e engine) {
		p := &c.Pipeline
		allIdle := watermark.Advance
		if c.Variant == "legacy" {
			allIdle = watermark.Hold
		}
		source := watermark.NewPartitions(watermark.PartitionsSettings{IdleAfter: p.Idle, IdleRule: watermark.QuietTicks, OnAllIdle: allIdle})
		var names []string
		highest := map[string]int64{}
		now := int64(0)
		ids := map[string]uint32{}
		id := func(name string) uint32 {
			if _, ok := ids[name]; !ok {
				ids[name] = uint32(len(ids))
			}
			return ids[name]
		}
		add := func(name string) {
			source.Add(id(name), now)
			names = append(names, name)
			highest[name] = batch.NoWatermark
		}
		for _, n := range p.Partitions {
			add(n)
		}
		r := newRig(t, e, p.spec(), false, 2, p.aggregates()...)
		expect, late := c.Expect, 0
		for i, s := range c.Steps {
			var results, lateRows, said []string
			collect := func(got []testResult) {
				for _, x := range got {
					results = append(results, p.line(x))
				}
				for _, row := range r.late {
					lateRows = append(lateRows, fmt.Sprint(row.key, row.value, row.ts))
				}
				r.late = r.late[:0]
			}
			var out []watermark.Event
			switch {
			case s.Event != nil:
				collect(r.process(p.row(s.Event)))
				highest[s.Partition] = max(highest[s.Partition], s.Event.TS)
				out = source.Row(id(s.Partition), now, nil)
				if s.Punctuate {
					out = source.Update(id(s.Partition), s.Event.TS, now, out)
				}
			case s.Marker != nil:
				out = source.Row(id(s.Partition), now, nil)
				out = source.Update(id(s.Partition), *s.Marker, now, out)
			case s.Advance > 0:
				now += s.Advance
			case s.Tick:
				for _, n := range names {
					if source.Check(id(n), now) || highest[n] == batch.NoWatermark || p.Generator.Type == "punctuated" || p.Generator.Type == "marker" {
						continue
					}
					source.Defer(id(n), highest[n]-p.Generator.Bound-1, now) // bounded; ascending has bound 0
				}
				out = source.Combine(nil)
			case s.Add != "":
				add(s.Add)
			case s.Remove != "":
				source.Remove(id(s.Remove))
				names = slices.DeleteFunc(names, func(n string) bool { return n == s.Remove })
			case s.End:
				out = source.Finish(nil)
			}
			for _, e := range out {
				switch e.Kind {
				case watermark.Rise:
					said = append(said, fmt.Sprint(e.Watermark))
					collect(r.advance(e.Watermark))
				case watermark.Idle:
					said = append(said, "idle")
				case watermark.Active:
					said = append(said, "active")
				}
			}
			var want, wantLate, wantSaid []string
			if len(expect) > 0 && expect[0].After == i {
				for _, x := range expect[0].Results {
					want = append(want, x.line(&p.vectorCase))
				}
				for _, x := range expect[0].Late {
					wantLate = append(wantLate, fmt.Sprint(x.Key, x.Value, x.TS))
				}
				for _, x := range expect[0].Source {
					switch {
					case x.Idle:
						wantSaid = append(wantSaid, "idle")
					case x.Active:
						wantSaid = append(wantSaid, "active")
					default:
						wantSaid = append(wantSaid, fmt.Sprint(*x.Watermark))
					}
				}
				expect = expect[1:]
			}
			require.Equal(t, wantSaid, said, "what the source says in step %d", i)
			require.ElementsMatch(t, want, results, "step %d", i)
			require.ElementsMatch(t, wantLate, lateRows, "late in step %d", i)
			late += len(lateRows)
		}
		require.Empty(t, expect)
		require.Equal(t, c.Late, late)
	}
	for _, c := range readVectors[pipelineCase](t, "pipeline") {
		layout, err := aggregate.New(c.Pipeline.aggregates())
		require.NoError(t, err)
		for _, e := range engines() {
			if e.can(c.Pipeline.spec(), layout) {
				t.Run(c.Name+"/"+e.name, func(t *testing.T) { play(t, &c, e) })
			}
		}
	}
}
