package assigner_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/assigner/marker"
	"github.com/tidemark-stream/tidemark/plugins/assigner/periodic"
	"github.com/tidemark-stream/tidemark/plugins/assigner/punctuated"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"pgregory.net/rapid"
)

// row is a record as an assigner sees it: its previous timestamp, the value of when or marker, and of watermark.
type row struct {
	time int64
	flag any // bool or nil
	wm   any // int64, string or nil
}

const none = sdk.NoTimestamp

// feed is one partition of a running assigner.
type feed struct {
	t    require.TestingT
	a    wire.Assigner
	flag string // the name of the flag column; "" = none
	seen int
	// what came out
	marks   []string // "after rows:watermark"
	markers []int
	bad     []string
}

func start(t require.TestingT, p sdk.Plugin, flag string, options map[string]any, state []byte, every bool, bucket int64) *feed {
	raw, err := json.Marshal(options)
	require.NoError(t, err)
	a, err := p.OpenAssigner(wire.AssignerOpen{Options: raw, EveryRecord: every, Bucket: bucket}, wire.Runtime{})
	require.NoError(t, err)
	require.NoError(t, a.AddPartition(0, "p", state))
	return &feed{t: t, a: a, flag: flag}
}

func (f *feed) recv(kind wire.AssignerEventKind) wire.AssignerEvent {
	e, err := f.a.Recv()
	require.NoError(f.t, err)
	require.Equal(f.t, kind, e.Kind)
	return e
}

func (f *feed) rows(rows ...row) {
	b := batch.Get()
	b.N = len(rows)
	for _, r := range rows {
		b.Times = append(b.Times, r.time)
	}
	if f.flag != "" {
		c := b.AddColumn(f.flag)
		for i, r := range rows {
			if v, ok := r.flag.(bool); ok {
				c.SetBool(i, v)
			} else {
				c.SetNull(i)
			}
		}
	}
	if f.flag == "marker" {
		c := b.AddColumn("watermark")
		for i, r := range rows {
			switch v := r.wm.(type) {
			case int64:
				c.SetTime(i, v)
			case string:
				b.SetText(c, i, batch.String, v)
			default:
				c.SetMissing(i)
			}
		}
	}
	require.NoError(f.t, f.a.Assign(b))
	e := f.recv(wire.Assigned)
	for _, m := range e.Batch.Marks {
		f.marks = append(f.marks, fmt.Sprintf("%d:%d", f.seen+int(m.After), m.Watermark))
	}
	for _, r := range e.Markers {
		f.markers = append(f.markers, f.seen+int(r))
	}
	for _, r := range e.Batch.Bad {
		f.bad = append(f.bad, fmt.Sprintf("%d:%s", f.seen+int(r.Row), r.Code))
	}
	f.seen += len(rows)
	e.Batch.Release()
}

func (f *feed) tick() int64 {
	require.NoError(f.t, f.a.Tick([]uint32{0}))
	return f.recv(wire.Ticked).Watermarks[0].Watermark
}

func (f *feed) snapshot() []byte {
	require.NoError(f.t, f.a.Barrier(1))
	return f.recv(wire.Snapshot).States[0].State
}

func times(ts ...int64) (rows []row) {
	for _, t := range ts {
		rows = append(rows, row{time: t})
	}
	return rows
}

func TestPeriodicFollowsTheHighestTimestamp(t *testing.T) {
	f := start(t, periodic.Plugin(), "", map[string]any{"max_out_of_orderness": "5s"}, nil, true, 1)
	require.Equal(t, int64(batch.NoWatermark), f.tick())
	f.rows(times(10_000, 9_000, 12_000, none, 12_000)...)
	require.Equal(t, []string{"1:4999", "3:6999"}, f.marks)
	require.Equal(t, int64(6999), f.tick())

	again := start(t, periodic.Plugin(), "", map[string]any{"max_out_of_orderness": "5s"}, f.snapshot(), true, 1)
	require.Equal(t, int64(6999), again.tick(), "a restart forgets nothing")
}

func TestPeriodicOnATimerMarksNothingByItself(t *testing.T) {
	f := start(t, periodic.Plugin(), "", nil, nil, false, 1)
	f.rows(times(1, 5, 3)...)
	require.Empty(t, f.marks)
	require.Equal(t, int64(4), f.tick(), "ascending: max - 1")
}

func TestPeriodicAtTheEndsOfTime(t *testing.T) {
	f := start(t, periodic.Plugin(), "", map[string]any{"max_out_of_orderness": "1ms"}, nil, true, 1)
	f.rows(times(none+1, batch.EndOfInput)...)
	require.Equal(t, []string{fmt.Sprintf("2:%d", batch.EndOfInput-2)}, f.marks, "the first would be below all times")
}

func TestPunctuated(t *testing.T) {
	yes, no := func(ts int64) row { return row{time: ts, flag: true} }, func(ts int64) row { return row{time: ts, flag: false} }
	for _, c := range []struct {
		name    string
		options map[string]any
		flag    string
		rows    []row
		want    []string
	}{
		{"every record", nil, "", times(5, 3, 7), []string{"1:5", "3:7"}},
		{"less a delay", map[string]any{"delay": "3500ms"}, "", times(5000, 6000), []string{"1:1500", "2:2500"}},
		{"every third", map[string]any{"every": 3}, "", times(1, 2, 3, 4, 5, 6, 7), []string{"3:3", "6:6"}},
		{"where the expression holds", map[string]any{"when": "x"}, "when", []row{no(1), yes(2), {time: 9}, yes(4)}, []string{"2:2", "4:4"}},
		{"every second where it holds", map[string]any{"when": "x", "every": 2}, "when", []row{yes(1), no(2), yes(3), yes(4)}, []string{"3:3"}},
		{"no column, no watermark", map[string]any{"when": "x"}, "", times(1, 2), nil},
		{"records without a time say nothing", nil, "", times(none, 4), []string{"2:4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, punctuated.Plugin(), c.flag, c.options, nil, false, 1)
			f.rows(c.rows...)
			require.Equal(t, c.want, f.marks)
		})
	}
}

func TestMarker(t *testing.T) {
	data := func(ts int64) row { return row{time: ts, flag: false} }
	beat := func(wm any) row { return row{time: none, flag: true, wm: wm} }
	for _, c := range []struct {
		name    string
		options map[string]any
		rows    []row
		marks   []string
		markers []int
		bad     []string
	}{
		{"the watermark stands in a field", map[string]any{"marker": "m", "watermark": "w"},
			[]row{data(1), beat(int64(5)), data(7)}, []string{"2:5"}, []int{1}, nil},
		{"less a delay", map[string]any{"marker": "m", "watermark": "w", "delay": "1s"},
			[]row{beat(int64(5000))}, []string{"1:4000"}, []int{0}, nil},
		{"or is the marker's own time", map[string]any{"marker": "m"},
			[]row{{time: 8, flag: true}, {time: none, flag: true}}, []string{"1:8"}, []int{0}, []string{"1:no_watermark"}},
		{"a lower one changes nothing", map[string]any{"marker": "m", "watermark": "w"},
			[]row{beat(int64(5)), beat(int64(3)), beat(int64(6))}, []string{"1:5", "3:6"}, []int{0, 1, 2}, nil},
		{"unusable ones are refused and move nothing", map[string]any{"marker": "m", "watermark": "w"},
			[]row{beat(nil), beat("soon"), data(1), beat(int64(2))}, []string{"4:2"}, []int{3}, []string{"0:no_watermark", "1:bad_watermark"}},
		{"kept ones are data too", map[string]any{"marker": "m", "keep": true},
			[]row{{time: 8, flag: true}}, []string{"1:8"}, nil, nil},
		{"a record without the field is no marker", map[string]any{"marker": "m"}, []row{{time: 8}}, nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, marker.Plugin(), "marker", c.options, nil, false, 1)
			f.rows(c.rows...)
			require.Equal(t, c.marks, f.marks)
			require.Equal(t, c.markers, f.markers)
			require.Equal(t, c.bad, f.bad)
		})
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	require.ErrorContains(t, periodic.Plugin().CheckOptions([]byte(`{"max_out_of_orderness":"-1s"}`)), "negative")
	require.ErrorContains(t, punctuated.Plugin().CheckOptions([]byte(`{"every":0}`)), "every = 1 is each record")
	require.ErrorContains(t, marker.Plugin().CheckOptions([]byte(`{}`)), "marker")
}

func TestStatesThatAreNotOurs(t *testing.T) {
	for _, p := range []sdk.Plugin{periodic.Plugin(), punctuated.Plugin(), marker.Plugin()} {
		a, err := p.OpenAssigner(wire.AssignerOpen{Options: []byte(`{"marker":"m"}`)}, wire.Runtime{})
		if p.Description().Name != "marker" {
			a, err = p.OpenAssigner(wire.AssignerOpen{}, wire.Runtime{})
		}
		require.NoError(t, err)
		require.Error(t, a.AddPartition(0, "p", []byte{0x80}))
	}
}

// step is what one record does in a model that looks at one record at a time.
type step func(r row) (watermark int64, ok bool)

// Batches, and a restart between any two of them, give what one record at a time gives.
func TestBatchesNeverShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"periodic", "punctuated", "marker"}).Draw(t, "kind")
		delay := rapid.Int64Range(0, 3).Draw(t, "delay")
		every := rapid.IntRange(1, 3).Draw(t, "every")
		text := fmt.Sprintf("%dms", delay)
		var p sdk.Plugin
		var options map[string]any
		var flag string
		var model step
		switch kind {
		case "periodic":
			p, options = periodic.Plugin(), map[string]any{"max_out_of_orderness": text}
			high := none
			model = func(r row) (int64, bool) {
				high = max(high, r.time)
				return high - delay - 1, high != none
			}
		case "punctuated":
			p, options, flag = punctuated.Plugin(), map[string]any{"delay": text, "every": every, "when": "x"}, "when"
			n := 0
			model = func(r row) (int64, bool) {
				if r.flag != true || r.time == none {
					return 0, false
				}
				n++
				return r.time - delay, n%every == 0
			}
		case "marker":
			p, options, flag = marker.Plugin(), map[string]any{"delay": text, "marker": "m", "watermark": "w"}, "marker"
			model = func(r row) (int64, bool) {
				w, ok := r.wm.(int64)
				return w - delay, r.flag == true && ok
			}
		}
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
			r := row{time: rapid.Int64Range(0, 20).Draw(t, "time"), flag: rapid.SampledFrom([]any{true, false, nil}).Draw(t, "flag")}
			if rapid.IntRange(0, 9).Draw(t, "no time") == 0 {
				r.time = none
			}
			r.wm = rapid.SampledFrom([]any{int64(3), int64(9), int64(15), "x", nil}).Draw(t, "wm")
			return r
		}), 0, 30).Draw(t, "rows")

		var want []string
		high := int64(batch.NoWatermark)
		for i, r := range rows {
			if w, ok := model(r); ok && w > high {
				high = w
				want = append(want, fmt.Sprintf("%d:%d", i+1, w))
			}
		}
		f := start(t, p, flag, options, nil, true, 1)
		for left := rows; len(left) > 0; {
			n := min(rapid.IntRange(1, 8).Draw(t, "batch"), len(left))
			f.rows(left[:n]...)
			left = left[n:]
			if rapid.Bool().Draw(t, "restart") {
				next := start(t, p, flag, options, f.snapshot(), true, 1)
				next.seen, next.marks, next.markers, next.bad = f.seen, f.marks, f.markers, f.bad
				f = next
			}
		}
		// After a restart an assigner may say again what it has said: values that do not rise are ignored downstream.
		require.Equal(t, want, rising(f.marks))
	})
}

func rising(marks []string) (out []string) {
	high := int64(batch.NoWatermark)
	for _, m := range marks {
		var after, w int64
		_, err := fmt.Sscanf(m, "%d:%d", &after, &w)
		if err == nil && w > high {
			high = w
			out = append(out, m)
		}
	}
	return out
}

func BenchmarkAssign(b *testing.B) {
	const rows = 4096
	for _, c := range []struct {
		name    string
		plugin  sdk.Plugin
		options string
		bucket  int64
	}{
		{"periodic", periodic.Plugin(), `{"max_out_of_orderness":"2s"}`, 5000},
		{"periodic, no bucket", periodic.Plugin(), `{"max_out_of_orderness":"2s"}`, 1},
		{"punctuated", punctuated.Plugin(), `{"delay":"2s"}`, 5000},
		{"marker", marker.Plugin(), `{"marker":"m"}`, 5000},
	} {
		b.Run(c.name, func(b *testing.B) {
			a, err := c.plugin.OpenAssigner(wire.AssignerOpen{Options: []byte(c.options), EveryRecord: true, Bucket: c.bucket}, wire.Runtime{})
			require.NoError(b, err)
			require.NoError(b, a.AddPartition(0, "p", nil))
			bt := batch.Get()
			bt.N = rows
			for i := range rows {
				bt.Times = append(bt.Times, 1_700_000_000_000+int64(i)-int64(i*7919%2000))
			}
			col := bt.AddColumn("marker")
			for i := range rows {
				col.SetBool(i, i%100 == 0)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for left := b.N; left > 0; left -= rows {
				for i := range bt.Times {
					bt.Times[i] += rows
				}
				bt.Marks, bt.Sel = bt.Marks[:0], nil
				if err := a.Assign(bt); err != nil {
					b.Fatal(err)
				}
				if _, err := a.Recv(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
