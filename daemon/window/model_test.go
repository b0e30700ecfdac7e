package window

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// model is the rule book without any cleverness: it keeps the rows themselves, looks at all windows at every step, and finds what is
// due next by looking at all of them again.
type model struct {
	spec             Spec
	watermark, clock int64
	windows          []*modelWindow
	late             []testRow
	silent           int
}

type modelWindow struct {
	key         string
	span        Span
	rows        []testRow
	changed     bool
	ended       bool
	firings     int64
	count       int64
	next, clock int64
	lateDue     int64
	shown       []testResult
}

func newModel(s Spec) *model {
	return &model{spec: s, watermark: math.MinInt64, clock: math.MinInt64}
}

func (m *model) now() int64 {
	if m.spec.ProcessingTime {
		return m.clock
	}
	return m.watermark
}

func (m *model) byEnd() bool { // the default trigger or one of the continuous ones
	return m.spec.Trigger != OnCount && m.spec.Trigger != Never && !(m.spec.Trigger == "" && m.spec.Type == Global)
}

func (m *model) dropsAt(w *modelWindow) int64 {
	if m.spec.Type == Global {
		return math.MaxInt64
	}
	return addSaturating(w.span.MaxTimestamp(), m.spec.Lateness)
}

func (m *model) row(row testRow, place int) (results []testResult) {
	ts := row.ts
	if m.spec.ProcessingTime {
		ts = m.clock + 1
	}
	var own []*modelWindow
	if m.spec.Type == Session {
		own = m.session(row, ts)
	} else {
		for _, span := range m.spec.Assign(ts, nil) {
			if m.spec.Type != Global && !m.spec.ProcessingTime && addSaturating(span.MaxTimestamp(), m.spec.Lateness) <= m.watermark {
				continue
			}
			i := slices.IndexFunc(m.windows, func(w *modelWindow) bool { return w.key == row.key && w.span == span })
			if i < 0 {
				i = len(m.windows)
				m.windows = append(m.windows, &modelWindow{key: row.key, span: span, next: notDue, clock: notDue, lateDue: notDue})
			}
			own = append(own, m.windows[i])
		}
	}
	if len(own) == 0 {
		if !m.spec.ProcessingTime && ts+m.spec.Lateness <= m.watermark {
			m.late = append(m.late, row)
		} else {
			m.silent++
		}
	}
	for _, w := range own {
		w.rows = append(w.rows, row)
		w.changed = true
		if m.trigger(w, ts) {
			timing := Early
			if m.spec.Type == Global {
				timing = OnTime
			} else if !m.spec.ProcessingTime && m.watermark >= w.span.MaxTimestamp() {
				timing = Late
			}
			results = append(results, m.fire(w, place, timing)...)
		}
	}
	return results
}

// session puts the row's window together with those that it overlaps or touches, by the rules in session.go.
func (m *model) session(row testRow, ts int64) []*modelWindow {
	gap, longest := m.spec.Gap, m.spec.MaxLength
	if m.spec.GapColumn != "" && row.gap >= 0 {
		gap = row.gap
	}
	if longest == 0 {
		longest = 1 << 40
	}
	w := &modelWindow{key: row.key, span: Span{ts, ts + min(gap, longest)}, next: notDue, clock: notDue, lateDue: notDue}
	var mine []*modelWindow
	for _, o := range m.windows {
		if o.key == row.key {
			mine = append(mine, o)
		}
	}
	slices.SortFunc(mine, func(a, b *modelWindow) int { return cmp.Compare(a.span.Start, b.span.Start) })
	var parts []*modelWindow
	for i, o := range mine {
		switch {
		case i+1 < len(mine) && mine[i+1].span.Start <= ts:
		case o.span.Start <= ts && ts <= o.span.End && ts < o.span.Start+longest:
			w.span = Span{o.span.Start, max(o.span.End, min(w.span.End, o.span.Start+longest))}
			parts = append(parts, o)
		case o.span.Start > ts && o.span.Start <= w.span.End && o.span.End-w.span.Start <= longest:
			w.span.End = max(w.span.End, o.span.End)
			parts = append(parts, o)
		case o.span.Start > ts && o.span.Start <= w.span.End:
			w.span.End = o.span.Start
		}
	}
	if len(parts) == 0 && !m.spec.ProcessingTime && addSaturating(w.span.MaxTimestamp(), m.spec.Lateness) <= m.watermark {
		return nil
	}
	for _, p := range parts {
		w.rows = append(w.rows, p.rows...)
		w.changed = w.changed || p.changed
		w.firings = max(w.firings, p.firings)
		w.count += p.count
		w.next, w.clock, w.lateDue = min(w.next, p.next), min(w.clock, p.clock), min(w.lateDue, p.lateDue)
		w.shown = append(w.shown, p.shown...)
		w.ended = w.ended || p.ended
	}
	if len(parts) == 1 && parts[0].span == w.span {
		*parts[0] = *w
		return parts
	}
	if m.byEnd() && !m.spec.ProcessingTime {
		if w.ended = m.now() >= w.span.MaxTimestamp(); w.ended {
			w.next = notDue
		} else {
			w.lateDue = notDue
		}
	}
	m.windows = slices.DeleteFunc(m.windows, func(o *modelWindow) bool { return slices.Contains(parts, o) })
	m.windows = append(m.windows, w)
	return []*modelWindow{w}
}

func (m *model) trigger(w *modelWindow, ts int64) (fire bool) {
	s := m.spec
	last := w.span.MaxTimestamp()
	over := s.Type != Global && m.now() >= last
	n := s.EarlyCount
	if s.Trigger == OnCount {
		n = s.Count
	}
	if n > 0 && (s.Trigger == OnCount || !over) {
		w.count++
		if w.count >= n {
			w.count, fire = 0, true
		}
	}
	if !m.byEnd() {
		return fire
	}
	if over && s.ProcessingTime {
		return fire // a session without length: the next step of the clock fires it
	}
	if over {
		w.ended = true
		if s.LateEvery == 0 {
			return true
		}
		w.lateDue = min(w.lateDue, (m.watermark+1)/s.LateEvery*s.LateEvery+s.LateEvery-1)
		return fire
	}
	if s.Trigger == ContinuousEventTime && w.next == notDue {
		w.next = min(ts/s.Interval*s.Interval+s.Interval, last)
	}
	if s.EarlyEvery > 0 && w.next == notDue {
		from := max(ts, addSaturating(m.watermark, 1))
		if due := from/s.EarlyEvery*s.EarlyEvery + s.EarlyEvery - 1; due < last {
			w.next = due
		}
	}
	every := s.EarlyProcessingEvery
	if s.Trigger == ContinuousProcessingTime {
		every = s.Interval
	}
	if every > 0 && w.clock == notDue {
		w.clock = (m.clock+1)/every*every + every - 1
	}
	return fire
}

func (m *model) fire(w *modelWindow, place int, timing Timing) (results []testResult) {
	if len(w.rows) == 0 {
		return nil
	}
	for _, r := range w.shown {
		r.retract, r.place = true, uint32(place)
		results = append(results, r)
	}
	sum := int64(0)
	for _, r := range w.rows {
		sum += r.value
	}
	res := testResult{
		place: uint32(place), key: w.key, values: []string{fmt.Sprint(len(w.rows)), fmt.Sprint(sum)}, ts: w.span.MaxTimestamp(),
		firing: w.firings, timing: timing.String(),
	}
	if w.span != globalSpan {
		res.start, res.end = w.span.Start, w.span.End
	}
	if m.watermark != math.MinInt64 && !m.spec.ProcessingTime {
		res.watermark = m.watermark
	}
	results = append(results, res)
	w.firings++
	w.changed = false
	if m.spec.Mode == Retracting {
		w.shown = []testResult{res}
	}
	if m.spec.Purging || m.spec.Mode == Discarding {
		w.rows = nil
	}
	return results
}

// due is when a window has something to do by the watermark, or by the clock.
func (m *model) due(w *modelWindow, byClock bool) int64 {
	due := int64(notDue)
	if byClock {
		due = w.clock
	} else {
		due = min(w.next, w.lateDue)
		if w.span == globalSpan && m.watermark == math.MaxInt64 {
			due = notDue // the end of input is its end, below
		}
	}
	if byClock == m.spec.ProcessingTime {
		due = min(due, m.dropsAt(w))
		if m.byEnd() && !w.ended {
			due = min(due, w.span.MaxTimestamp())
		}
	}
	return due
}

func (m *model) advance(to int64, byClock bool) (results []testResult) {
	if byClock {
		m.clock = to
	} else {
		m.watermark = to
	}
	exact := m.spec.Trigger == ContinuousEventTime || m.spec.Trigger == ContinuousProcessingTime
	for {
		var w *modelWindow
		for _, o := range m.windows {
			if d := m.due(o, byClock); d <= to && d != notDue && (w == nil || m.before(o, d, w, m.due(w, byClock))) {
				w = o
			}
		}
		if w == nil {
			break
		}
		at, last := m.due(w, byClock), w.span.MaxTimestamp()
		fires, timing := false, OnTime
		switch {
		case byClock == m.spec.ProcessingTime && m.byEnd() && !w.ended && last <= at:
			fires, w.ended, w.next = true, true, notDue
			if m.spec.ProcessingTime {
				w.clock = notDue
			}
		case !byClock && w.next <= at:
			fires, timing, w.next = exact || w.changed, Early, notDue
			if exact {
				w.next = min(at+m.spec.Interval, last)
			}
		case byClock && w.clock <= at:
			fires, timing, w.clock = exact || w.changed, Early, notDue
			if exact {
				w.clock = at + m.spec.Interval
			}
			if !m.spec.ProcessingTime && m.watermark >= last {
				timing = Late
			}
		}
		drops := byClock == m.spec.ProcessingTime && m.dropsAt(w) <= at
		if !byClock && w.lateDue != notDue && (w.lateDue <= at || drops) {
			fires, timing, w.lateDue = true, Late, notDue
		}
		if fires {
			results = append(results, m.fire(w, 0, timing)...)
		}
		if drops {
			m.windows = slices.DeleteFunc(m.windows, func(o *modelWindow) bool { return o == w })
		}
	}
	if to == math.MaxInt64 && !byClock && m.byEnd() && m.spec.Type == Global && (!m.spec.ProcessingTime || m.spec.Trigger == OnEndOfInput) {
		slices.SortFunc(m.windows, func(a, b *modelWindow) int {
			if m.before(a, to, b, to) {
				return -1
			}
			return 1
		})
		for _, w := range m.windows {
			results = append(results, m.fire(w, 0, OnTime)...)
		}
	}
	return results
}

func (m *model) before(a *modelWindow, at int64, b *modelWindow, bt int64) bool {
	ha, hb := rowkey.Hash(uint8(batch.String), []byte(a.key)), rowkey.Hash(uint8(batch.String), []byte(b.key))
	return cmp.Or(cmp.Compare(at, bt), cmp.Compare(a.span.End, b.span.End), cmp.Compare(ha, hb), cmp.Compare(a.key, b.key)) < 0
}

// drawSpec draws any Spec that the model knows.
func drawSpec(t *rapid.T) Spec {
	s := Spec{Type: rapid.SampledFrom([]Type{Tumbling, Sliding, Session, Session, Cumulative, Global}).Draw(t, "type")}
	small := func(name string) int64 { return rapid.Int64Range(1, 12).Draw(t, name) }
	switch s.Type {
	case Tumbling:
		s.Size = small("size")
		s.Offset = rapid.Int64Range(-s.Size+1, s.Size-1).Draw(t, "offset")
	case Sliding:
		s.Size, s.Slide = small("size"), small("slide")
		s.Offset = rapid.Int64Range(-s.Slide+1, s.Slide-1).Draw(t, "offset")
	case Cumulative:
		s.Slide = rapid.Int64Range(1, 5).Draw(t, "step")
		s.Size = s.Slide * rapid.Int64Range(1, 4).Draw(t, "steps")
	case Session:
		s.Gap = small("gap")
		if rapid.Bool().Draw(t, "own gaps") {
			s.GapColumn = "gap"
		}
		if rapid.Bool().Draw(t, "cut") {
			s.MaxLength = s.Gap + rapid.Int64Range(0, 20).Draw(t, "longer")
		}
	}
	s.ProcessingTime = rapid.IntRange(0, 4).Draw(t, "clock") == 0
	if !s.ProcessingTime && s.Type != Global && rapid.Bool().Draw(t, "lateness") {
		s.Lateness = small("allowed")
		if rapid.Bool().Draw(t, "collect late rows") {
			s.LateEvery = small("late every")
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "trigger") {
	case 0:
		s.Trigger, s.Count, s.LateEvery = OnCount, rapid.Int64Range(1, 4).Draw(t, "count"), 0
	case 1:
		if !s.ProcessingTime {
			s.Trigger, s.Interval = ContinuousEventTime, small("interval")
		}
	case 2:
		s.Trigger, s.Interval = ContinuousProcessingTime, small("interval")
	case 4:
		if s.Type == Global {
			s.Trigger = OnEndOfInput
		}
	case 3:
		if s.Type == Global {
			break
		}
		s.EarlyCount = rapid.Int64Range(0, 3).Draw(t, "early count")
		if !s.ProcessingTime {
			s.EarlyEvery = rapid.Int64Range(0, 5).Draw(t, "early every")
		}
		s.EarlyProcessingEvery = rapid.Int64Range(0, 5).Draw(t, "early by clock")
	}
	s.Mode = rapid.SampledFrom([]Mode{"", Accumulating, Discarding, Retracting}).Draw(t, "mode")
	s.Purging = s.Mode != Retracting && rapid.IntRange(0, 3).Draw(t, "purging") == 0
	return s
}

// TestAnyEngineIsTheModel plays random histories: the results, their order, what is late and what is still there have to be those of
// the model, whatever the batches, the shards, and the moments of checkpoints and restarts.
func TestAnyEngineIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { playAgainstModel(t, drawSpec(t)) })
}

func playAgainstModel(t *rapid.T, spec Spec) {
	aggs := []aggregate.Spec{{Name: "n", Func: "count"}, {Name: "sum", Func: "sum", Arg: "value"}}
	require.Empty(t, spec.Check())
	layout, err := aggregate.New(aggs)
	require.NoError(t, err)
	m := newModel(spec)
	var rigs []*rig
	for _, e := range engines() {
		if e.can(spec, layout) {
			rigs = append(rigs, newRig(t, e, spec, true, rapid.IntRange(1, 3).Draw(t, "shards"), aggs...))
		}
	}
	same := func(want []testResult, got func(*rig) []testResult) {
		for _, r := range rigs {
			// In lines, since a diff of lines can be read.
			require.Equal(t, lines(want), lines(got(r)), "results of %s", r.engine.name)
		}
	}
	clock, watermark := int64(0), int64(-20)
	m.advance(-1, true)
	same(nil, func(r *rig) []testResult { return r.clock(0) })
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0, 1, 2, 3:
			var rows []testRow
			var want []testResult
			for i := range rapid.IntRange(1, 8).Draw(t, "rows") {
				row := testRow{
					key:   rapid.SampledFrom([]string{"a", "b", "c", "a key of more than thirty-one bytes indeed"}).Draw(t, "key"),
					value: rapid.Int64Range(0, 9).Draw(t, "value"),
					ts:    rapid.Int64Range(max(0, watermark-15), max(0, watermark)+30).Draw(t, "ts"),
					gap:   rapid.Int64Range(-1, 8).Draw(t, "gap"),
				}
				if spec.ProcessingTime && row.gap == 0 {
					row.gap = 1 // without length it would fire at the next look at the clock, and a restart is one
				}
				rows = append(rows, row)
				want = append(want, m.row(row, i)...)
			}
			late := m.late
			m.late = nil
			same(want, func(r *rig) []testResult { return r.process(rows...) })
			for _, r := range rigs {
				require.Equal(t, fmt.Sprint(late), fmt.Sprint(r.late), "late rows of %s", r.engine.name)
				require.EqualValues(t, m.silent, r.silent, "silent rows of %s", r.engine.name)
			}
		case 4, 5, 6:
			watermark += rapid.Int64Range(1, 20).Draw(t, "further")
			want := m.advance(watermark, false)
			same(want, func(r *rig) []testResult { return r.advance(watermark) })
		case 7:
			clock += rapid.Int64Range(1, 10).Draw(t, "later")
			want := m.advance(clock-1, true)
			same(want, func(r *rig) []testResult { return r.clock(clock) })
		case 8:
			shards := rapid.IntRange(1, 3).Draw(t, "shards")
			for _, r := range rigs {
				r.restart(shards)
			}
		case 9:
			for _, r := range rigs {
				r.checkpoint()
			}
		}
		for _, r := range rigs {
			require.Equal(t, len(m.windows), r.live(), "windows of %s", r.engine.name)
		}
	}
	want := m.advance(math.MaxInt64, false)
	same(want, func(r *rig) []testResult { return r.advance(math.MaxInt64) })
	for _, r := range rigs {
		require.Equal(t, len(m.windows), r.live(), "windows of %s at the end of input", r.engine.name)
		r.checkpoint()
		require.Equal(t, len(m.windows), len(r.store), "what is stored is what is there")
	}
}

func lines(results []testResult) []string {
	var out []string
	for _, r := range results {
		out = append(out, fmt.Sprintf("%d: %v", r.place, r))
	}
	return out
}
