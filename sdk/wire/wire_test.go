package wire

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// anyBatch draws a batch with everything that a batch can have.
func anyBatch(t *rapid.T) *batch.Batch {
	b := batch.Get()
	b.N = rapid.IntRange(0, 40).Draw(t, "rows")
	b.Partition = rapid.Uint32().Draw(t, "partition")
	b.Base = rapid.Int64().Draw(t, "base")
	b.Position = append(b.Position, rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "position")...)
	if rapid.Bool().Draw(t, "bytes") {
		b.Unit = batch.ByteOffset
	}
	if rapid.Bool().Draw(t, "raw") {
		b.Trailer = uint8(rapid.IntRange(0, 2).Draw(t, "trailer"))
		b.Offsets = append(b.Offsets, 0)
		for range b.N {
			row := rapid.StringN(0, 30, 90).Draw(t, "row")
			b.Data = append(append(b.Data, row...), "\r\n"[:b.Trailer]...)
			b.Offsets = append(b.Offsets, uint32(len(b.Data)))
		}
	}
	if rapid.Bool().Draw(t, "times") {
		for range b.N {
			b.Times = append(b.Times, rapid.Int64().Draw(t, "time"))
		}
	}
	for i, after := 0, 0; i < rapid.IntRange(0, 3).Draw(t, "marks"); i++ {
		after = rapid.IntRange(after, b.N).Draw(t, "after")
		b.Marks = append(b.Marks, batch.Mark{After: uint32(after), Watermark: rapid.Int64().Draw(t, "watermark")})
	}
	for k := range rapid.IntRange(0, 4).Draw(t, "columns") {
		c := b.AddColumn(fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"a", "b", "ccc"}).Draw(t, "name"), k))
		kinds := []batch.Kind{batch.Kind(rapid.IntRange(0, 8).Draw(t, "kind"))}
		if rapid.Bool().Draw(t, "mixed") {
			kinds = []batch.Kind{0, 1, 2, 3, 4, 5, 6, 7, 8}
		}
		for i := range b.N {
			switch kind := rapid.SampledFrom(kinds).Draw(t, "cell"); kind {
			case batch.String, batch.JSON:
				b.SetText(c, i, kind, rapid.StringN(0, 5, 15).Draw(t, "text"))
			case batch.Missing, batch.Null:
				c.Set(i, kind, 0)
			default:
				c.Set(i, kind, rapid.Uint64().Draw(t, "bits"))
			}
		}
	}
	row := -1
	for range rapid.IntRange(0, 2).Draw(t, "bad") {
		if row++; row < b.N {
			b.Bad = append(b.Bad, batch.BadRow{Row: uint32(row), Code: "code", Message: rapid.String().Draw(t, "message")})
		}
	}
	if rapid.Bool().Draw(t, "reject") {
		b.Rejects = append(b.Rejects, batch.Reject{After: uint32(b.N), Code: "too_long", Message: "m", Data: []byte("da"), Length: 1 << 40,
			HasPosition: true, Position: rapid.SampledFrom([]int64{0, 1, 1 << 40}).Draw(t, "position")})
		b.Rejects = append(b.Rejects, batch.Reject{After: uint32(b.N), Code: "damaged"})
	}
	return b
}

// pieces cuts a message into buffers at random places, as a socket does.
func pieces(t *rapid.T, text []byte) mem.BufferSlice {
	var out mem.BufferSlice
	for len(text) > 0 {
		n := rapid.IntRange(1, len(text)).Draw(t, "piece")
		out = append(out, mem.SliceBuffer(text[:n]))
		text = text[n:]
	}
	return out
}

// same compares what matters of two batches; nil and empty are the same.
func same(t require.TestingT, want, got *batch.Batch) {
	require.Equal(t, want.N, got.N)
	require.Equal(t, want.Partition, got.Partition)
	require.Equal(t, want.Base, got.Base)
	require.Equal(t, want.Unit, got.Unit)
	require.Equal(t, string(want.Position), string(got.Position))
	require.Equal(t, len(want.Offsets) > 0, len(got.Offsets) > 0)
	for i := range want.N {
		require.Equal(t, string(want.Row(i)), string(got.Row(i)))
	}
	require.Equal(t, append([]int64{}, want.Times...), append([]int64{}, got.Times...))
	require.Equal(t, append([]batch.Mark{}, want.Marks...), append([]batch.Mark{}, got.Marks...))
	require.Equal(t, append([]batch.Reject{}, want.Rejects...), append([]batch.Reject{}, got.Rejects...))
	require.Equal(t, append([]batch.BadRow{}, want.Bad...), append([]batch.BadRow{}, got.Bad...))
	require.Equal(t, len(want.Columns), len(got.Columns))
	for k := range want.Columns {
		sameColumn(t, want, &want.Columns[k], got, &got.Columns[k], nil)
	}
}

// sameColumn compares the rows of want that sel selects with all rows of got.
func sameColumn(t require.TestingT, want *batch.Batch, w *batch.Column, got *batch.Batch, g *batch.Column, sel []uint32) {
	require.Equal(t, w.Name, g.Name)
	if sel == nil {
		for i := range want.N {
			sel = append(sel, uint32(i))
		}
	}
	require.Len(t, g.Kinds, len(sel))
	require.Len(t, g.Bits, len(sel))
	present := uint16(0)
	for i, row := range sel {
		present |= 1 << w.Kinds[row]
		require.Equal(t, w.Kinds[row], g.Kinds[i])
		if k := g.Kinds[i]; k == batch.String || k == batch.JSON {
			require.Equal(t, string(want.Text(w.Bits[row])), string(got.Text(g.Bits[i])))
		} else {
			require.Equal(t, w.Bits[row], g.Bits[i])
		}
	}
	require.Equal(t, present, g.Present&present, "Present covers every kind")
}

// What the hand-written writer writes is what the generated code reads, and the other way round, wherever the socket cuts.
func TestBatchesAreOrdinaryProtobuf(t *testing.T) {
	frames := new(ring)
	rapid.Check(t, func(t *rapid.T) {
		b := anyBatch(t)
		data, err := (&sourceResponse{batch: b, frames: frames}).marshal()
		require.NoError(t, err)
		var generated pluginv1.SourceResponse
		require.NoError(t, proto.Unmarshal(data.Materialize(), &generated))
		require.EqualValues(t, b.N, generated.GetBatch().GetRows())
		require.Equal(t, len(b.Columns), len(generated.GetBatch().GetColumns()))
		require.Empty(t, generated.GetBatch().ProtoReflect().GetUnknown())

		again, err := proto.Marshal(&generated)
		require.NoError(t, err)
		var in sourceResponse
		require.NoError(t, in.unmarshal(pieces(t, again)))
		same(t, b, in.batch)
		in.batch.Release()
		b.Release()
	})
}

// Fields may come in any order and with others among them that this version does not know.
func TestUnknownFieldsArePassedOver(t *testing.T) {
	b := batch.Get()
	b.N = 1
	b.AddColumn("x").SetInt(0, 7)
	data, err := (&sourceResponse{batch: b, frames: new(ring)}).marshal()
	require.NoError(t, err)
	text := data.Materialize()
	unknown := []byte{0xa2, 0x06, 3, 1, 2, 3, 0xa8, 0x06, 5, 0xad, 0x06, 0, 0, 0, 0, 0xb1, 0x06, 0, 0, 0, 0, 0, 0, 0, 0} // fields 100 to 102, each wire type
	for _, message := range [][]byte{append(append([]byte{}, unknown...), text...), append(append([]byte{}, text...), unknown...)} {
		var in sourceResponse
		require.NoError(t, in.unmarshal(mem.BufferSlice{mem.SliceBuffer(message)}))
		require.NotNil(t, in.batch)
		require.EqualValues(t, 7, in.batch.Column("x").Bits[0])
	}
	inner := append(append([]byte{}, text[2:]...), unknown...)
	message := append([]byte{text[0], byte(len(inner))}, inner...)
	var in sourceResponse
	require.NoError(t, in.unmarshal(mem.BufferSlice{mem.SliceBuffer(message)}))
	require.EqualValues(t, 7, in.batch.Column("x").Bits[0])
}

// Only selected rows and wanted columns are sent, in order, and their text goes with them.
func TestSelectedRowsAndWantedColumns(t *testing.T) {
	frames := new(ring)
	rapid.Check(t, func(t *rapid.T) {
		b := anyBatch(t)
		sel := []uint32{}
		for i := range b.N {
			if rapid.Bool().Draw(t, "alive") {
				sel = append(sel, uint32(i))
			}
		}
		if len(sel) < b.N || rapid.Bool().Draw(t, "explicit") {
			b.Sel = sel
		}
		want := Wanted{All: rapid.Bool().Draw(t, "all"), Raw: rapid.Bool().Draw(t, "raw")}
		for i := range b.Columns {
			if rapid.Bool().Draw(t, "wanted") {
				want.Columns = append(want.Columns, b.Columns[i].Name)
			}
		}
		out := rowsRequest[*pluginv1.AssignerRequest]{send: b, want: &want, frames: frames}
		data, err := out.marshal()
		require.NoError(t, err)
		in := rowsRequest[*pluginv1.AssignerRequest]{rows: batch.Get()}
		require.NoError(t, in.unmarshal(pieces(t, data.Materialize())))
		require.True(t, in.isRows)
		got := in.rows
		require.Equal(t, len(sel), got.N)
		k := 0
		for i := range b.Columns {
			if want.has(b.Columns[i].Name) {
				sameColumn(t, b, &b.Columns[i], got, &got.Columns[k], sel)
				k++
			}
		}
		require.Len(t, got.Columns, k)
		for i, row := range sel {
			if len(b.Times) > 0 {
				require.Equal(t, b.Times[row], got.Times[i])
			}
			if want.Raw && len(b.Offsets) > 0 {
				require.Equal(t, string(b.Row(int(row))), string(got.Row(i)))
			}
		}
	})
}

func TestAssignedIsOrdinaryProtobuf(t *testing.T) {
	frames := new(ring)
	rapid.Check(t, func(t *rapid.T) {
		m := assignerResponse{isAssigned: true, frames: frames}
		m.rows = rapid.IntRange(0, 100).Draw(t, "rows")
		m.times = rapid.SliceOfN(rapid.Int64(), m.rows, m.rows).Draw(t, "times")
		m.markers = rapid.SliceOfN(rapid.Uint32(), 0, 200).Draw(t, "markers")
		m.marks = []batch.Mark{{After: 3, Watermark: math.MinInt64}, {After: 9, Watermark: 5}}
		m.bad = []batch.BadRow{{Row: 1, Code: "c", Message: rapid.String().Draw(t, "message")}}
		data, err := m.marshal()
		require.NoError(t, err)
		var generated pluginv1.AssignerResponse
		require.NoError(t, proto.Unmarshal(data.Materialize(), &generated))
		require.Len(t, generated.GetAssigned().GetTimes(), 8*m.rows)
		again, err := proto.Marshal(&generated)
		require.NoError(t, err)
		var in assignerResponse
		require.NoError(t, in.unmarshal(pieces(t, again)))
		require.True(t, in.isAssigned)
		require.Equal(t, m.rows, in.rows)
		require.Equal(t, append([]int64{}, m.times...), append([]int64{}, in.times...))
		require.Equal(t, append([]uint32{}, m.markers...), append([]uint32{}, in.markers...))
		require.Equal(t, m.marks, in.marks)
		require.Equal(t, m.bad, in.bad)
	})
}

func TestTransformedAndWriteAreOrdinaryProtobuf(t *testing.T) {
	frames := new(ring)
	rapid.Check(t, func(t *rapid.T) {
		b := anyBatch(t)
		origin := rapid.SliceOfN(rapid.Uint32(), b.N, b.N).Draw(t, "origin")
		data, err := (&transformResponse{transformed: true, out: b, origin: origin, frames: frames}).marshal()
		require.NoError(t, err)
		var generated pluginv1.TransformResponse
		require.NoError(t, proto.Unmarshal(data.Materialize(), &generated))
		again, err := proto.Marshal(&generated)
		require.NoError(t, err)
		var in transformResponse
		require.NoError(t, in.unmarshal(pieces(t, again)))
		same(t, b, in.out)
		require.Equal(t, append([]uint32{}, origin...), append([]uint32{}, in.origin...))

		write, err := (&sinkRequest{send: b, first: 1 << 60, text: len(b.Offsets) > 0, frames: frames}).marshal()
		require.NoError(t, err)
		var request pluginv1.SinkRequest
		require.NoError(t, proto.Unmarshal(write.Materialize(), &request))
		again, err = proto.Marshal(&request)
		require.NoError(t, err)
		out := sinkRequest{rows: batch.Get()}
		require.NoError(t, out.unmarshal(pieces(t, again)))
		require.True(t, out.isWrite)
		require.EqualValues(t, 1<<60, out.first)
		require.Equal(t, b.N, out.rows.N)
		for i := range b.N {
			require.Equal(t, string(b.Row(i)), string(out.rows.Row(i)))
		}
	})
}

// What a plugin may have wrong in a batch, one by one.
func TestBatchesThatCannotBe(t *testing.T) {
	for says, spoil := range map[string]func(*batch.Batch){
		"3 rows have 3 offsets":                      func(b *batch.Batch) { b.Offsets = b.Offsets[:3] },
		"the offsets of the rows are not in order":   func(b *batch.Batch) { b.Offsets[1] = 9 },
		"not in order within 6 bytes":                func(b *batch.Batch) { b.Offsets[3] = 7 },
		"the offsets of the rows are not in":         func(b *batch.Batch) { b.Offsets[2], b.Offsets[3] = 1<<31+5, 0 },
		"3 rows have 2 timestamps":                   func(b *batch.Batch) { b.Times = []int64{1, 2} },
		"a watermark stands behind row 4 of 3":       func(b *batch.Batch) { b.Marks = []batch.Mark{{After: 4}} },
		"or is out of order":                         func(b *batch.Batch) { b.Marks = []batch.Mark{{After: 2}, {After: 1}} },
		`column "x": 3 rows have 2 kinds`:            func(b *batch.Batch) { b.Columns[0].Kinds = b.Columns[0].Kinds[:2] },
		`column "x": the text of row 2 lies outside`: func(b *batch.Batch) { b.Columns[0].Set(2, batch.String, batch.ExtraRef(0, 5)) },
		`column "x": the text of row 1 is not UTF-8`: func(b *batch.Batch) {
			b.Extra = append(b.Extra, 0xff)
			b.Columns[0].Set(1, batch.String, batch.ExtraRef(0, 1))
		},
		`column "x": there is no kind 77`:            func(b *batch.Batch) { b.Columns[0].Kinds[0] = 77; b.Columns[0].Present = 3 },
		"a refused row has number 3 of 3":            func(b *batch.Batch) { b.Bad = []batch.BadRow{{Row: 3}} },
		"a rejected record stands behind row 4 of 3": func(b *batch.Batch) { b.Rejects = []batch.Reject{{After: 4}} },
	} {
		b := batch.Get()
		b.N, b.Trailer = 3, 1
		b.Data = []byte("a\nb\nc\n")
		b.Offsets = []uint32{0, 2, 4, 6}
		c := b.AddColumn("x")
		c.SetInt(0, 1)
		c.SetNull(1)
		c.SetInt(2, 3)
		spoil(b)
		data, err := (&sourceResponse{batch: b, frames: new(ring)}).marshal()
		require.NoError(t, err)
		var in sourceResponse
		require.ErrorContains(t, in.unmarshal(data), says)
		require.Nil(t, in.batch)
	}
}

func TestAnswersThatCannotBe(t *testing.T) {
	for says, a := range map[string]assigned{
		"asked about 3 rows and answered about 2": {rows: 2},
		"returned 2 timestamps for 3 rows":        {rows: 3, times: []int64{1, 2}},
		"a watermark stands behind row 4 of 3":    {rows: 3, marks: []batch.Mark{{After: 4}}},
		"a marker has number 3 of 3":              {rows: 3, markers: []uint32{3}},
		"a refused row has number 0 of 3":         {rows: 3, bad: []batch.BadRow{{Row: 1}, {Row: 0}}},
	} {
		require.ErrorContains(t, a.check(3), says)
	}
	require.NoError(t, (&assigned{rows: 3, times: []int64{1, 2, 3}, marks: []batch.Mark{{After: 3}}, markers: []uint32{0, 2}}).check(3))
}

// Whatever comes in, nothing falls over, and what is accepted can be used.
func FuzzReceive(f *testing.F) {
	b := batch.Get()
	b.N, b.Trailer = 2, 1
	b.Data, b.Offsets = []byte("a\nb\n"), []uint32{0, 2, 4}
	c := b.AddColumn("x")
	c.SetInt(0, 1)
	b.SetText(c, 1, batch.String, "text")
	for _, m := range []message{&sourceResponse{batch: b, frames: new(ring)}, &sinkRequest{send: b, first: 3, frames: new(ring)},
		&transformResponse{transformed: true, out: b, origin: []uint32{0, 1}, frames: new(ring)}} {
		data, err := m.marshal()
		require.NoError(f, err)
		f.Add(data.Materialize(), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		slices := mem.BufferSlice{mem.SliceBuffer(data)}
		if cut > 0 && cut < len(data) {
			slices = mem.BufferSlice{mem.SliceBuffer(data[:cut]), mem.SliceBuffer(data[cut:])}
		}
		use := func(b *batch.Batch) {
			for i := range b.N {
				_ = b.Row(i)
				for k := range b.Columns {
					if kind := b.Columns[k].Kinds[i]; kind == batch.String || kind == batch.JSON {
						_ = b.Text(b.Columns[k].Bits[i])
					}
				}
			}
		}
		var source sourceResponse
		if source.unmarshal(slices) == nil && source.batch != nil {
			use(source.batch)
		}
		sink := sinkRequest{rows: batch.Get()}
		if sink.unmarshal(slices) == nil && sink.isWrite {
			use(sink.rows)
		}
		var transform transformResponse
		if transform.unmarshal(slices) == nil && transform.out != nil {
			use(transform.out)
		}
		var answer assignerResponse
		if answer.unmarshal(slices) == nil && answer.isAssigned {
			_ = answer.check(10)
		}
		rows := rowsRequest[*pluginv1.AssignerRequest]{rows: batch.Get(), make: func() *pluginv1.AssignerRequest { return &pluginv1.AssignerRequest{} }}
		if rows.unmarshal(slices) == nil && rows.isRows {
			use(rows.rows)
		}
	})
}
