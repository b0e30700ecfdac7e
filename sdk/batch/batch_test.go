package batch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func lines(rows ...string) *Batch {
	b := Get()
	b.Trailer = 1
	b.Offsets = append(b.Offsets, 0)
	for _, r := range rows {
		b.Data = append(append(b.Data, r...), '\n')
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
		b.N++
	}
	return b
}

func TestRowsAndPositions(t *testing.T) {
	b := lines("a", "", "ccc")
	b.Base, b.Unit = 100, ByteOffset
	require.Equal(t, "a", string(b.Row(0)))
	require.Equal(t, "", string(b.Row(1)))
	require.Equal(t, "ccc", string(b.Row(2)))
	require.EqualValues(t, 103, b.RowPosition(2))
	b.Unit = RecordNumber
	require.EqualValues(t, 102, b.RowPosition(2))
}

func TestRefusedRowsLeaveTheSelection(t *testing.T) {
	b := lines("a", "b", "c", "d")
	b.Refuse(1, "malformed", "no")
	b.Refuse(3, "malformed", "no")
	b.Narrow(0)
	require.Equal(t, []uint32{0, 2}, b.Sel)
	from := len(b.Bad)
	b.Refuse(2, "no_timestamp", "none")
	b.Narrow(from)
	require.Equal(t, []uint32{0}, b.Sel)
	require.Equal(t, 1, b.Alive())
}

func TestAnEmptySelectionIsNotAllRows(t *testing.T) {
	b := lines("a")
	b.Refuse(0, "malformed", "no")
	b.Narrow(0)
	require.Equal(t, 0, b.Alive())
	b.Reset()
	require.Nil(t, b.Sel)
}

func TestAForkGoesItsOwnWay(t *testing.T) {
	b := lines("a", "b")
	c := b.AddColumn("x")
	b.SetText(c, 0, String, "one")
	b.SetText(c, 1, String, "two")
	f, g := b.Fork(), b.Fork()
	fc, gc := f.AddColumn("y"), g.AddColumn("z")
	f.SetText(fc, 0, String, "left")
	g.SetText(gc, 0, String, "right")
	require.Equal(t, "left", string(f.Text(f.Column("y").Bits[0])))
	require.Equal(t, "right", string(g.Text(g.Column("z").Bits[0])))
	require.Equal(t, "one", string(f.Text(f.Column("x").Bits[0])))
	require.Nil(t, b.Column("y"))
	f.Release()
	g.Release()
	require.EqualValues(t, 1, b.refs)
	b.Release()
	require.Panics(t, func() { b.Release() })
}

func TestAppendRowsTakesTextAlong(t *testing.T) {
	src := lines("a")
	src.N, src.Offsets = 3, nil
	src.Times = []int64{1, 2, 3}
	s := src.AddColumn("s")
	src.SetText(s, 0, String, "zero")
	s.SetNull(1)
	src.SetText(s, 2, JSON, "[2]")
	n := src.AddColumn("n")
	for i := range 3 {
		n.SetInt(i, int64(i))
	}
	dst := Get()
	dst.AppendRows(src, 2, 3)
	dst.AppendRows(src, 0, 2)
	require.Equal(t, 3, dst.N)
	require.Equal(t, []int64{3, 1, 2}, dst.Times)
	require.Equal(t, []Kind{JSON, String, Null}, dst.Column("s").Kinds)
	require.Equal(t, "[2]", string(dst.Text(dst.Column("s").Bits[0])))
	require.Equal(t, "zero", string(dst.Text(dst.Column("s").Bits[1])))
	require.Equal(t, []uint64{2, 0, 1}, dst.Column("n").Bits)
	kind, ok := dst.Column("n").Uniform()
	require.True(t, ok)
	require.Equal(t, Int, kind)
}
