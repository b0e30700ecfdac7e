package watermark

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// modelPartitions says what Partitions has to say, from scratch at each step and without any cleverness: rules 5.2 to 5.8, with
// ended partitions and such at the end of input left out.
type modelPartitions struct {
	watermark map[uint32]int64
	idle      map[uint32]bool
	ended     map[uint32]bool
	combined  int64
	out       []int64 // watermarks sent
	isIdle    bool
}

func (m *modelPartitions) combine() {
	var active, all []int64
	finished := false
	for id, w := range m.watermark {
		switch {
		case m.ended[id]:
		case w == math.MaxInt64:
			finished = true
		case m.idle[id]:
			all = append(all, w)
		default:
			all, active = append(all, w), append(active, w)
		}
	}
	switch {
	case m.combined == math.MaxInt64:
	case len(active) > 0:
		m.rise(slices.Min(active))
	case len(all) > 0:
		m.rise(slices.Max(all))
		m.isIdle = true
	case finished:
		m.rise(math.MaxInt64)
	}
}

func (m *modelPartitions) rise(w int64) {
	if w > m.combined {
		m.combined, m.isIdle = w, false
		m.out = append(m.out, w)
	}
}

func (m *modelPartitions) update(id uint32, w int64) {
	if m.combined == math.MaxInt64 || m.ended[id] {
		return
	}
	if _, ok := m.watermark[id]; !ok {
		m.watermark[id] = math.MinInt64
	}
	m.idle[id] = false
	if w > m.watermark[id] {
		m.watermark[id] = w
		if w > m.combined {
			m.combine()
		}
	}
}

// TestPartitionsAgainstModel feeds the same history to Update, to Apply in batches, to a copy that is restored at each step,
// and to the model.
func TestPartitionsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		single, bulk := NewPartitions(PartitionsSettings{}), NewPartitions(PartitionsSettings{})
		restored := NewPartitions(PartitionsSettings{})
		m := &modelPartitions{watermark: map[uint32]int64{}, idle: map[uint32]bool{}, ended: map[uint32]bool{}, combined: math.MinInt64}
		var gotSingle, gotBulk, gotRestored []int64
		rises := func(list []Event) (w []int64) {
			for _, e := range list {
				if e.Kind == Rise {
					w = append(w, e.Watermark)
				}
			}
			return w
		}
		all := []*Partitions{single, bulk, restored}
		step := func(f func(p *Partitions) []Event) {
			gotSingle = append(gotSingle, rises(f(single))...)
			gotBulk = append(gotBulk, rises(f(bulk))...)
			gotRestored = append(gotRestored, rises(f(restored))...)
		}
		id := rapid.Uint32Range(0, 3)
		watermark := rapid.OneOf(rapid.Int64Range(-5, 40), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, math.MaxInt64 - 1}))
		t.Repeat(map[string]func(*rapid.T){
			"batch": func(t *rapid.T) {
				p := id.Draw(t, "partition")
				list := rapid.SliceOfN(watermark, 1, 5).Draw(t, "marks")
				for _, x := range all {
					x.Add(p, 0)
				}
				if _, ok := m.watermark[p]; !ok || m.ended[p] {
					m.watermark[p], m.ended[p], m.idle[p] = math.MinInt64, false, false
				}
				var marks []batch.Mark
				for i, w := range list {
					marks = append(marks, batch.Mark{After: uint32(i), Watermark: w})
					gotSingle = append(gotSingle, rises(single.Update(p, w, 0, nil))...)
					gotRestored = append(gotRestored, rises(restored.Update(p, w, 0, nil))...)
					m.update(p, w)
				}
				out, _ := bulk.Apply(p, len(list), marks, 0, nil)
				for _, o := range out {
					gotBulk = append(gotBulk, o.Watermark)
				}
				// A partition's own end among idle ones is left to the next recombination by Apply.
				step(func(p *Partitions) []Event { return p.Combine(nil) })
				m.combine()
			},
			"deferred": func(t *rapid.T) {
				p, w := id.Draw(t, "partition"), watermark.Draw(t, "watermark")
				for _, x := range all {
					x.Defer(p, w, 0)
				}
				if old, ok := m.watermark[p]; ok && !m.ended[p] {
					m.idle[p] = false
					m.watermark[p] = max(old, w)
				}
			},
			"idle": func(t *rapid.T) {
				p := id.Draw(t, "partition")
				if _, ok := m.watermark[p]; ok && !m.ended[p] {
					m.idle[p] = true
				}
				m.combine()
				step(func(x *Partitions) []Event { return x.MarkIdle(p, 0, nil) })
			},
			"end": func(t *rapid.T) {
				p := id.Draw(t, "partition")
				if _, ok := m.watermark[p]; ok {
					m.ended[p] = true
				}
				for _, x := range all {
					x.End(p, 0)
				}
			},
			"remove": func(t *rapid.T) {
				p := id.Draw(t, "partition")
				delete(m.watermark, p)
				delete(m.idle, p)
				delete(m.ended, p)
				for _, x := range all {
					x.Remove(p)
				}
			},
			"combine": func(t *rapid.T) {
				m.combine()
				step(func(p *Partitions) []Event { return p.Combine(nil) })
			},
			"": func(t *rapid.T) {
				require.Equal(t, m.out, gotSingle, "one by one")
				require.Equal(t, m.out, gotBulk, "in batches")
				require.Equal(t, m.out, gotRestored, "restored")
				for _, x := range all {
					require.Equal(t, m.isIdle, x.IsIdle())
				}
				fresh := NewPartitions(PartitionsSettings{})
				require.NoError(t, fresh.Restore(restored.Snapshot(nil), 0))
				*restored = *fresh
				if h, ok := bulk.Holding(); ok {
					for _, s := range bulk.Status(nil) {
						if s.State != StateEnded && s.State != StateIdle {
							require.LessOrEqual(t, h.Watermark, s.Watermark)
						}
					}
				}
			},
		})
	})
}

// TestCoalescedMarksLeadToTheSameBuckets checks that at every place between rows the watermark lies in the same bucket with and
// without thinning, and that it is the same at the end of each batch.
func TestCoalescedMarksLeadToTheSameBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.Int64Range(2, 20).Draw(t, "granularity")
		o := rapid.Int64Range(-30, 30).Draw(t, "offset")
		plain := NewPartitions(PartitionsSettings{})
		thin := NewPartitions(PartitionsSettings{Granularity: g, Offset: o})
		for _, p := range []*Partitions{plain, thin} {
			p.Add(0, 0)
			p.Add(1, 0)
		}
		bucket := func(w int64) int64 {
			if w == math.MinInt64 {
				return w
			}
			return int64(math.Floor(float64(w+1-o) / float64(g)))
		}
		before := func(start int64, marks []batch.Mark, row uint32) int64 {
			for _, m := range marks {
				if m.After <= row {
					start = m.Watermark
				}
			}
			return start
		}
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			p := rapid.Uint32Range(0, 1).Draw(t, "partition")
			n := rapid.IntRange(1, 12).Draw(t, "rows")
			var marks []batch.Mark
			for row := range n {
				marks = append(marks, batch.Mark{After: uint32(row + 1), Watermark: rapid.Int64Range(-60, 60).Draw(t, "w")})
			}
			from, fromThin := plain.Watermark(), thin.Watermark()
			require.Equal(t, from, fromThin)
			all, _ := plain.Apply(p, n, marks, 0, nil)
			few, _ := thin.Apply(p, n, marks, 0, nil)
			for row := range uint32(n + 1) {
				require.Equal(t, bucket(before(from, all, row)), bucket(before(from, few, row)), "before row %d", row)
			}
			require.Equal(t, before(from, all, uint32(n)), before(from, few, uint32(n)))
			require.LessOrEqual(t, len(few), len(all))
		}
	})
}

func TestValveTakesBatchesLikeSingleWatermarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		single, bulk := NewValve(3, 0, 0), NewValve(3, 0, 0)
		t.Repeat(map[string]func(*rapid.T){
			"batch": func(t *rapid.T) {
				i := rapid.IntRange(0, 2).Draw(t, "input")
				var want, marks []batch.Mark
				for k, w := range rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 6).Draw(t, "marks") {
					marks = append(marks, batch.Mark{After: uint32(k), Watermark: w})
					for _, e := range single.Watermark(i, w, nil) {
						require.Equal(t, Rise, e.Kind)
						want = append(want, batch.Mark{After: uint32(k), Watermark: e.Watermark})
					}
				}
				require.Equal(t, want, bulk.Apply(i, marks, nil))
			},
			"idle": func(t *rapid.T) {
				i := rapid.IntRange(0, 2).Draw(t, "input")
				require.Equal(t, single.Idle(i, nil), bulk.Idle(i, nil))
			},
			"active": func(t *rapid.T) {
				i := rapid.IntRange(0, 2).Draw(t, "input")
				require.Equal(t, single.Active(i, nil), bulk.Active(i, nil))
			},
			"restart": func(t *rapid.T) {
				fresh := NewValve(3, 0, 0)
				require.NoError(t, fresh.Restore(bulk.Snapshot(nil)))
				bulk = fresh
			},
			"": func(t *rapid.T) {
				require.Equal(t, single.Current(), bulk.Current())
				require.Equal(t, single.IsIdle(), bulk.IsIdle())
			},
		})
	})
}

func TestLatenessAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, other := NewLateness(), NewLateness()
		highs := map[uint32]int64{}
		var delays []int64
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			p := rapid.Uint32Range(0, 1).Draw(t, "partition")
			times := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 100_000), rapid.Int64Range(0, 300), rapid.Just(int64(batch.NoTimestamp))), 1, 20).Draw(t, "times")
			for _, ts := range times {
				if ts == batch.NoTimestamp {
					continue
				}
				high, ok := highs[p]
				if !ok || ts > high {
					high = ts
				}
				highs[p] = high
				delays = append(delays, high-ts)
			}
			into := l
			if p == 1 {
				into = other
			}
			if rapid.Bool().Draw(t, "selected") {
				sel := []uint32{}
				for i, ts := range times {
					if ts != batch.NoTimestamp {
						sel = append(sel, uint32(i))
					}
				}
				into.Observe(p, times, sel)
			} else {
				into.Observe(p, times, nil)
			}
		}
		l.Merge(other)
		require.EqualValues(t, len(delays), l.Rows())
		if len(delays) == 0 {
			return
		}
		require.EqualValues(t, slices.Max(delays), l.Longest().Milliseconds())
		bound := rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(0, 100_000)).Draw(t, "bound")
		more, nearly := 0, 0
		for _, d := range delays {
			if d > bound {
				more++
			}
			if d > bound-bound/16-1 {
				nearly++
			}
		}
		lost := int(l.Lost(time.Duration(bound) * time.Millisecond))
		require.GreaterOrEqual(t, lost, more, "never promises too much")
		require.LessOrEqual(t, lost, nearly, "within a sixteenth")
		if bound < latenessFine {
			require.Equal(t, more, lost)
		}
	})
}

func FuzzRestore(f *testing.F) {
	p := NewPartitions(PartitionsSettings{})
	p.Update(3, 7, 0, nil)
	f.Add(p.Snapshot(nil))
	f.Add(NewValve(2, 0, 0).Snapshot(nil))
	g := NewJumpGuard(JumpSettings{Span: 10})
	g.Apply(rowsAt(0, 0, 5), nil)
	f.Add(g.Snapshot(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p := NewPartitions(PartitionsSettings{}); p.Restore(data, 0) == nil {
			again := NewPartitions(PartitionsSettings{})
			require.NoError(t, again.Restore(p.Snapshot(nil), 0))
			require.Equal(t, p.Snapshot(nil), again.Snapshot(nil))
		}
		_ = NewValve(2, 0, 0).Restore(data)
		if g := NewJumpGuard(JumpSettings{Span: 10}); g.Restore(data) == nil {
			for _, b := range g.EndAll(nil) { // held rows can be rebuilt
				b.Release()
			}
		}
	})
}
