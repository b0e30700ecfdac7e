package watermark

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// vector is one case of testdata/vectors: the union of the kinds that this package runs.
type vector struct {
	Name      string
	Variant   string
	Steps     []step
	Expect    []expectation
	Generator string
	BoundMs   int64  `json:"bound_ms"`
	IdleMs    *int64 `json:"idle_timeout_ms"`

	ExpectWatermarks []int64 `json:"expect_watermarks"`

	Multiplexer *struct{ Outputs []string }
	Source      *struct {
		Partitions []string
		Generator  struct {
			Type    string
			BoundMs int64 `json:"bound_ms"`
		}
		IdleMs int64 `json:"idle_timeout_ms"`
	}
	Valve     *struct{ Inputs int }
	Alignment *struct {
		MaxDriftMs int64 `json:"max_drift_ms"`
	}
}

type step struct {
	Tick      bool
	Event     *int64 `json:"event_ts"`
	Punctuate bool
	Marker    *int64 `json:"marker_ts"`
	AdvanceMs int64  `json:"advance_ms"`
	Upstream  *int64 `json:"upstream_watermark"`
	End       bool

	Output     string
	Watermark  *int64
	Mode       string
	Idle       bool
	Active     bool
	Register   string
	Unregister string

	Partition *string
	Add       *string `json:"add_partition"`
	Remove    *string `json:"remove_partition"`

	Input  int
	Source uint32
}

type expectation struct {
	AfterStep  int `json:"after_step"`
	Watermark  *int64
	Idle       bool
	Active     bool
	MaxAllowed int64 `json:"max_allowed"`
	Paused     *[]uint32
}

func loadVectors(t *testing.T, file string) []vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors/" + file)
	require.NoError(t, err)
	var cases []vector
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.NotEmpty(t, cases)
	return cases
}

// runVectors runs the cases of a file. run plays a step and returns what came out. Cases of the older generation of idleness
// rules run where a setting gives that behaviour, and are skipped by name where the product only has the current one.
func runVectors(t *testing.T, file string, legacy bool, start func(vector) func(step) []Event) {
	for _, c := range loadVectors(t, file) {
		t.Run(c.Name, func(t *testing.T) {
			if c.Variant == "legacy" && !legacy {
				t.Skip("product follows current")
			}
			play := start(c)
			var watermarks []int64
			got := map[int][]Event{}
			for i, s := range c.Steps {
				for _, e := range play(s) {
					got[i] = append(got[i], e)
					if e.Kind == Rise {
						watermarks = append(watermarks, e.Watermark)
					}
				}
			}
			want := map[int][]Event{}
			for _, x := range c.Expect {
				e := Event{Kind: Active}
				switch {
				case x.Watermark != nil:
					e = Event{Kind: Rise, Watermark: *x.Watermark}
				case x.Idle:
					e = Event{Kind: Idle}
				}
				want[x.AfterStep] = append(want[x.AfterStep], e)
			}
			require.Equal(t, want, got)
			if c.ExpectWatermarks != nil {
				require.ElementsMatch(t, c.ExpectWatermarks, watermarks)
			}
		})
	}
}

func TestVectorsMultiplexer(t *testing.T) {
	runVectors(t, "multiplexer.json", true, func(c vector) func(step) []Event {
		p := NewPartitions(PartitionsSettings{OnAllIdle: onAllIdle(c)})
		ids := numbering{}
		for _, o := range c.Multiplexer.Outputs {
			p.Add(ids.of(o), 0)
		}
		return func(s step) []Event {
			id := uint32(0)
			if s.Output != "" {
				id = ids.of(s.Output)
			}
			switch {
			case s.Tick:
				return p.Combine(nil)
			case s.Register != "":
				p.Add(ids.of(s.Register), 0)
			case s.Unregister != "":
				p.Remove(ids.of(s.Unregister))
			case s.Idle && s.Mode == "immediate":
				return p.MarkIdle(id, 0, nil)
			case s.Idle:
				p.DeferIdle(id, 0)
			case s.Mode == "immediate":
				return p.Update(id, *s.Watermark, 0, nil)
			default:
				p.Defer(id, *s.Watermark, 0)
			}
			return nil
		}
	})
}

// TestVectorsGenerators runs a generator as a source of one partition: the emitter behind it is the one of Partitions.
func TestVectorsGenerators(t *testing.T) {
	runVectors(t, "generators.json", false, func(c vector) func(step) []Event {
		idle := int64(0)
		if c.IdleMs != nil {
			idle = *c.IdleMs
		}
		return newVectorSource([]string{""}, c.Generator, c.BoundMs, idle, Advance).play
	})
}

func TestVectorsSource(t *testing.T) {
	runVectors(t, "source.json", true, func(c vector) func(step) []Event {
		s := c.Source
		return newVectorSource(s.Partitions, s.Generator.Type, s.Generator.BoundMs, s.IdleMs, onAllIdle(c)).play
	})
}

func TestVectorsValve(t *testing.T) {
	runVectors(t, "valve.json", false, func(c vector) func(step) []Event {
		v := NewValve(c.Valve.Inputs, 0, 0)
		return func(s step) []Event {
			switch {
			case s.Idle:
				return v.Idle(s.Input, nil)
			case s.Active:
				return v.Active(s.Input, nil)
			default:
				return v.Watermark(s.Input, *s.Watermark, nil)
			}
		}
	})
}

func TestVectorsAlignment(t *testing.T) {
	for _, c := range loadVectors(t, "alignment.json") {
		t.Run(c.Name, func(t *testing.T) {
			a := NewAlignment(c.Alignment.MaxDriftMs)
			expect := c.Expect
			for i, s := range c.Steps {
				if s.Idle {
					a.ReportIdle(s.Source)
				} else {
					a.Report(s.Source, *s.Watermark)
				}
				if len(expect) > 0 && expect[0].AfterStep == i {
					require.Equal(t, expect[0].MaxAllowed, a.Ceiling(), "step %d", i)
					if want := expect[0].Paused; want != nil {
						require.ElementsMatch(t, *want, a.Waiting(nil), "step %d", i)
						for id := range uint32(4) {
							require.Equal(t, contains(*want, id), a.MustWait(id), "step %d, source %d", i, id)
						}
					}
					expect = expect[1:]
				}
			}
			require.Empty(t, expect)
		})
	}
}

func contains(list []uint32, id uint32) bool {
	for _, x := range list {
		if x == id {
			return true
		}
	}
	return false
}

func onAllIdle(c vector) OnAllIdle {
	if c.Variant == "legacy" {
		return Hold
	}
	return Advance
}

// numbering gives names numbers in the order of their appearance.
type numbering map[string]uint32

func (n numbering) of(name string) uint32 {
	if _, ok := n[name]; !ok {
		n[name] = uint32(len(n))
	}
	return n[name]
}

// vectorSource drives Partitions as a source with one generator a partition does.
type vectorSource struct {
	p     *Partitions
	ids   numbering
	order []uint32
	gens  map[uint32]*generator
	kind  string
	bound int64
	now   int64
}

func newVectorSource(names []string, kind string, bound, idle int64, all OnAllIdle) *vectorSource {
	s := &vectorSource{
		p:   NewPartitions(PartitionsSettings{IdleAfter: idle, IdleRule: QuietTicks, OnAllIdle: all}),
		ids: numbering{}, gens: map[uint32]*generator{}, kind: kind, bound: bound,
	}
	for _, n := range names {
		s.add(n)
	}
	return s
}

func (s *vectorSource) add(name string) {
	id := s.ids.of(name)
	s.gens[id] = newGenerator(s.kind, s.bound)
	s.order = append(s.order, id)
	s.p.Add(id, s.now)
}

func (s *vectorSource) play(st step) []Event {
	id := uint32(0)
	if st.Partition != nil {
		id = s.ids.of(*st.Partition)
	}
	switch {
	case st.Event != nil:
		out := s.p.Row(id, s.now, nil)
		if w, ok := s.gens[id].event(*st.Event, st.Punctuate); ok {
			out = s.p.Update(id, w, s.now, out)
		}
		return out
	case st.Marker != nil:
		out := s.p.Row(id, s.now, nil)
		return s.p.Update(id, *st.Marker, s.now, out)
	case st.AdvanceMs > 0:
		s.now += st.AdvanceMs
	case st.Tick:
		for _, id := range s.order {
			if s.p.Check(id, s.now) {
				continue
			}
			if w, ok := s.gens[id].tick(); ok {
				s.p.Defer(id, w, s.now)
			}
		}
		return s.p.Combine(nil)
	case st.Upstream != nil:
		if *st.Upstream == batch.EndOfInput {
			return s.p.Finish(nil)
		}
	case st.Add != nil:
		s.add(*st.Add)
	case st.Remove != nil:
		id := s.ids.of(*st.Remove)
		s.p.Remove(id)
		for i, o := range s.order {
			if o == id {
				s.order = append(s.order[:i], s.order[i+1:]...)
				break
			}
		}
	case st.End:
		return s.p.Finish(nil)
	}
	return nil
}

// generator is the arithmetic of semantics section 3.
type generator struct {
	kind  string
	bound int64
	high  int64
	last  int64
	seen  bool
}

func newGenerator(kind string, bound int64) *generator {
	return &generator{kind: kind, bound: bound, high: math.MinInt64}
}

func (g *generator) event(ts int64, punctuate bool) (int64, bool) {
	g.high, g.last, g.seen = max(g.high, ts), ts, true
	return ts, g.kind == "punctuated" && punctuate
}

func (g *generator) tick() (int64, bool) {
	if !g.seen {
		return 0, false
	}
	switch g.kind {
	case "bounded":
		return saturatingSub(g.high, saturatingAdd(g.bound, 1)), true
	case "ascending", "classic_ascending":
		return saturatingSub(g.high, 1), true
	case "classic_bounded":
		return saturatingSub(g.high, g.bound), true
	case "last_minus_one":
		return saturatingSub(g.last, 1), true
	}
	return 0, false
}
