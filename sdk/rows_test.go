package sdk

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"pgregory.net/rapid"
)

type allKinds struct {
	I  int        `tidemark:"i"`
	I6 int64      `tidemark:"i6"`
	I3 int32      `tidemark:"i3"`
	U  uint64     `tidemark:"u"`
	F  float64    `tidemark:"f"`
	B  bool       `tidemark:"b"`
	S  string     `tidemark:"s"`
	Y  []byte     `tidemark:"y"`
	T  time.Time  `tidemark:"t"`
	A  any        `tidemark:"a"`
	PI *int64     `tidemark:"pi"`
	PS *string    `tidemark:"ps"`
	PT *time.Time `tidemark:"pt"`
	X  int        // no tag: left alone
}

// What is written as an event comes back as the same event.
func TestEventsGoRoundInColumns(t *testing.T) {
	s, err := shapeOf[allKinds]()
	require.NoError(t, err)
	w, r := newEventWriter[allKinds](s), newRows[allKinds](s)
	rapid.Check(t, func(t *rapid.T) {
		b := batch.Get()
		defer b.Release()
		var want []allKinds
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			e := allKinds{
				I: rapid.Int().Draw(t, "i"), I6: rapid.Int64().Draw(t, "i6"), I3: rapid.Int32().Draw(t, "i3"), U: rapid.Uint64().Draw(t, "u"),
				F: rapid.Float64().Draw(t, "f"), B: rapid.Bool().Draw(t, "b"), S: rapid.String().Draw(t, "s"),
				T: time.UnixMilli(rapid.Int64Range(-1e14, 1e14).Draw(t, "t")).UTC(), A: rapid.SampledFrom([]any{nil, true, int64(7), 1.5, "text", uint64(math.MaxUint64)}).Draw(t, "a"),
			}
			if y := rapid.String().Draw(t, "y"); y != "" {
				e.Y = []byte(y)
			}
			if rapid.Bool().Draw(t, "set") {
				e.PI, e.PS, e.PT = new(int64), new(string), new(time.Time)
				*e.PI, *e.PS, *e.PT = rapid.Int64().Draw(t, "pi"), rapid.String().Draw(t, "ps"), time.UnixMilli(5).UTC()
			}
			w.write(b, &e)
			b.N++
			want = append(want, e)
		}
		r.open(b)
		for i := range want {
			got, ok := r.at(i)
			require.True(t, ok, r.message)
			if len(got.Y) == 0 {
				got.Y = nil
			}
			require.Equal(t, want[i], *got)
		}
	})
}

func TestWhatDoesNotFitIsRefusedWithBothTypes(t *testing.T) {
	for _, c := range []struct {
		field string
		set   func(b *batch.Batch, c *batch.Column)
		says  string
	}{
		{"i", func(b *batch.Batch, c *batch.Column) { b.SetText(c, 0, batch.String, "7") }, `the field "i" is string, and the plugin wants int`},
		{"i", func(b *batch.Batch, c *batch.Column) { c.SetFloat(0, 1.5) }, `is float, and the plugin wants int`},
		{"i3", func(b *batch.Batch, c *batch.Column) { c.SetInt(0, 1<<40) }, `is int, and the plugin wants int`},
		{"u", func(b *batch.Batch, c *batch.Column) { c.SetInt(0, -1) }, `the field "u"`},
		{"f", func(b *batch.Batch, c *batch.Column) { c.SetBool(0, true) }, `is bool, and the plugin wants float`},
		{"b", func(b *batch.Batch, c *batch.Column) { c.SetInt(0, 1) }, `is int, and the plugin wants bool`},
		{"s", func(b *batch.Batch, c *batch.Column) { c.SetInt(0, 1) }, `is int, and the plugin wants string`},
		{"t", func(b *batch.Batch, c *batch.Column) { c.SetInt(0, 1) }, `is int, and the plugin wants timestamp`},
	} {
		s, err := shapeOf[allKinds]()
		require.NoError(t, err)
		r := newRows[allKinds](s)
		b := batch.Get()
		b.N = 1
		c.set(b, b.AddColumn(c.field))
		r.open(b)
		_, ok := r.at(0)
		require.False(t, ok)
		require.Equal(t, "wrong_type", r.code)
		require.Contains(t, r.message, c.says)
	}
}

func TestMissingValues(t *testing.T) {
	type event struct {
		N    int    `tidemark:"n"`
		P    *int64 `tidemark:"p"`
		Need string `tidemark:"need,required"`
	}
	s, err := shapeOf[event]()
	require.NoError(t, err)
	r := newRows[event](s)
	b := batch.Get()
	b.N = 3
	for _, name := range []string{"n", "p", "need"} {
		b.AddColumn(name)
	}
	n, p, need := b.Column("n"), b.Column("p"), b.Column("need")
	for i := range 3 {
		n.SetInt(i, 7)
		p.SetInt(i, 8)
		b.SetText(need, i, batch.String, "x")
	}
	n.SetNull(1)
	p.SetMissing(1)
	need.SetNull(2)
	r.open(b)
	e, _ := r.at(0)
	require.Equal(t, 7, e.N)
	require.EqualValues(t, 8, *e.P)
	e, ok := r.at(1)
	require.True(t, ok)
	require.Zero(t, e.N, "nothing is left of the record before")
	require.Nil(t, e.P)
	_, ok = r.at(2)
	require.False(t, ok)
	require.Equal(t, `missing_field: the field "need" is missing`, r.code+": "+r.message)
}

func TestRawRecords(t *testing.T) {
	type event struct {
		Line  string `tidemark:",raw"`
		Bytes []byte `tidemark:",raw"`
		TS    int64  `tidemark:"ts"`
	}
	s, err := shapeOf[event]()
	require.NoError(t, err)
	d := Description{}
	s.describe(&d)
	require.True(t, d.Raw)
	require.Equal(t, []FieldSpec{{Name: "ts", Type: wire.IntCell}}, d.Fields)
	b := &batch.Batch{N: 2, Data: []byte("one\ntwo\n"), Offsets: []uint32{0, 4, 8}, Trailer: 1}
	r := newRows[event](s)
	r.open(b)
	first, _ := r.at(0)
	line := first.Line
	second, _ := r.at(1)
	require.Equal(t, "one two two", line+" "+second.Line+" "+string(second.Bytes))
	copy(b.Data, "XXXX")
	require.Equal(t, "one", line, "strings may be kept")
}

func TestTagsThatCannotBe(t *testing.T) {
	type noName struct {
		A int `tidemark:""`
	}
	type unknown struct {
		A int `tidemark:"a,requierd"`
	}
	type hidden struct {
		//lint:ignore U1000 it is the mistake
		a int `tidemark:"a"`
	}
	type odd struct {
		A map[string]int `tidemark:"a"`
	}
	for says, err := range map[string]error{
		"has no name": second(shapeOf[noName]()), `"requierd" is not known`: second(shapeOf[unknown]()),
		"is not exported": second(shapeOf[hidden]()), "the type map[string]int is not supported": second(shapeOf[odd]()), "must be a struct": second(shapeOf[int]()),
	} {
		require.ErrorContains(t, err, says)
	}
}

func second(_ *shape, err error) error { return err }

func TestRecords(t *testing.T) {
	b := batch.Get()
	w := newEventWriter[Record](&shape{record: true})
	for _, m := range []map[string]any{{"a": 1, "s": "x"}, {"a": 2.5, "late": true}, {"j": json.RawMessage(`[1]`), "t": time.UnixMilli(9), "n": nil}} {
		r := NewRecord(m)
		w.write(b, &r)
		b.N++
	}
	read := newRows[Record](&shape{record: true})
	read.open(b)
	var got []map[string]any
	for i := range b.N {
		r, _ := read.at(i)
		m := map[string]any{}
		for _, name := range r.Names() {
			if v := r.Value(name); v != nil {
				m[name] = v
			}
		}
		got = append(got, m)
	}
	require.Equal(t, []map[string]any{{"a": int64(1), "s": "x"}, {"a": 2.5, "late": true}, {"j": json.RawMessage(`[1]`), "t": time.UnixMilli(9).UTC()}}, got)
	r, _ := read.at(0)
	n, ok := r.Int("a")
	require.True(t, ok)
	require.EqualValues(t, 1, n)
	_, ok = r.Int("s")
	require.False(t, ok)
	require.False(t, r.Has("late"))
	f, ok := r.Float("a")
	require.True(t, ok)
	require.Equal(t, 1.0, f)
	text, ok := r.Text("s")
	require.True(t, ok)
	require.Equal(t, "x", text)
}

func BenchmarkReadEvent(b *testing.B) {
	type event struct {
		User string `tidemark:"user"`
		TS   int64  `tidemark:"ts"`
	}
	s, _ := shapeOf[event]()
	r := newRows[event](s)
	rows := batch.Get()
	rows.N = 4096
	rows.AddColumn("user")
	rows.AddColumn("ts")
	user, ts := rows.Column("user"), rows.Column("ts")
	for i := range rows.N {
		rows.SetText(user, i, batch.String, "user-00001234")
		ts.SetInt(i, int64(i))
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		if i%rows.N == 0 {
			r.open(rows)
		}
		r.at(i % rows.N)
	}
}

func BenchmarkWriteEvent(b *testing.B) {
	type event struct {
		User string `tidemark:"user"`
		TS   int64  `tidemark:"ts"`
	}
	s, _ := shapeOf[event]()
	w := newEventWriter[event](s)
	rows := batch.Get()
	e := event{"user-00001234", 7}
	b.ReportAllocs()
	for i := range b.N {
		if i%4096 == 0 {
			rows.Reset()
		}
		w.write(rows, &e)
		rows.N++
	}
}
