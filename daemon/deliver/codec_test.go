package deliver

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// mixed has a cell of every kind in one column, and one kind in another.
func mixed() *batch.Batch {
	b := batch.Get()
	b.AddColumn("any")
	b.AddColumn("same")
	b.Grow(9)
	c := &b.Columns[0]
	c.SetMissing(0)
	c.SetNull(1)
	c.SetBool(2, true)
	c.SetInt(3, -1)
	c.SetUint(4, 1<<63)
	c.SetFloat(5, 0.5)
	b.SetText(c, 6, batch.String, "é")
	b.SetText(c, 7, batch.JSON, `{"a":1}`)
	c.SetTime(8, 1_700_000_000_000)
	for i := range 9 {
		b.SetText(&b.Columns[1], i, batch.String, "x")
		b.Times[i] = []int64{batch.NoTimestamp, 0, batch.EndOfInput}[i%3]
	}
	return b
}

func TestRowsOfEveryKindComeBack(t *testing.T) {
	want := mixed()
	got := batch.Get()
	require.NoError(t, decodeChunk(appendChunk(nil, want), got))
	require.Equal(t, want.N, got.N)
	require.Equal(t, want.Times, got.Times)
	for i := range want.Columns {
		w, g := &want.Columns[i], &got.Columns[i]
		require.Equal(t, w.Name, g.Name)
		require.Equal(t, w.Kinds, g.Kinds)
		require.Equal(t, w.Present, g.Present)
		for r, k := range w.Kinds {
			if k == batch.String || k == batch.JSON {
				require.Equal(t, want.Text(w.Bits[r]), got.Text(g.Bits[r]))
			} else if k > batch.Null {
				require.Equal(t, w.Bits[r], g.Bits[r])
			}
		}
	}
}

func TestTheRoomForAChunkSuffices(t *testing.T) {
	for name, b := range map[string]*batch.Batch{"every kind": mixed(), "text": text("a", "", strings.Repeat("b", 1<<7-1), strings.Repeat("c", 1<<14)), "nothing": text()} {
		n := len(appendChunk(nil, b))
		require.LessOrEqual(t, n, chunkRoom(b), name)
		require.LessOrEqual(t, chunkRoom(b), n+64+20*(b.N+len(b.Columns)*b.N), name)
	}
}

func TestJoinedRowsAreTheSameRows(t *testing.T) {
	all := batch.Get()
	for _, b := range []*batch.Batch{text("a", ""), text("bc"), text()} {
		require.True(t, all.N == 0 || joins(all, b))
		appendRows(all, b)
	}
	require.Equal(t, []string{"a", "", "bc"}, rowsOf(all))
	require.False(t, joins(all, columns("a")))
	cols := batch.Get()
	appendRows(cols, columns("a"))
	appendRows(cols, columns("b", "c"))
	require.Equal(t, []string{"a", "b", "c"}, rowsOf(cols))
}

// TestStoredRowsStayReadable holds samples as version 1 wrote them. A new version adds samples; these stay.
func TestStoredRowsStayReadable(t *testing.T) {
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		require.NoError(t, err)
		return b
	}
	b := batch.Get()
	require.NoError(t, decodeChunk(unhex("01"+"01"+"02"+"01"+"0201"+"610a0a"), b))
	require.Equal(t, []string{"a", ""}, rowsOf(b))
	b = batch.Get()
	require.NoError(t, decodeChunk(unhex("01"+"02"+"01"+"904e"+"02"+"0475736572"+"07"+"0161"+"016e"+"04"+"0300000000000000"), b))
	require.Equal(t, []string{"a"}, rowsOf(b))
	require.Equal(t, []int64{5000}, b.Times)
	require.EqualValues(t, 3, b.Columns[1].Bits[0])
	r, err := decodeRecord(unhex("01" + "0b" + "05" + "02" + "0364" + "0228"))
	require.NoError(t, err)
	require.EqualValues(t, 11, r.next)
	require.EqualValues(t, 5, r.acked)
	require.Len(t, r.chunks, 2)
	require.EqualValues(t, 6, r.chunks[0].first)
	require.EqualValues(t, 9, r.chunks[1].first)
	require.EqualValues(t, 40, r.chunks[1].bytes)
}

func FuzzChunk(f *testing.F) {
	f.Add(appendChunk(nil, mixed()))
	f.Add(appendChunk(nil, text("a", "", "bcd")))
	f.Add(appendChunk(nil, columns()))
	f.Fuzz(func(t *testing.T, stored []byte) {
		b, again := new(batch.Batch), new(batch.Batch)
		if decodeChunk(stored, b) != nil {
			return
		}
		encoded := appendChunk(nil, b)
		require.NoError(t, decodeChunk(encoded, again))
		require.Equal(t, encoded, appendChunk(nil, again))
	})
}

func FuzzRecord(f *testing.F) {
	f.Add(record{next: 11, acked: 5, chunks: []*chunk{{rows: 3, bytes: 100}, {rows: 2, bytes: 40}}}.encode())
	f.Fuzz(func(t *testing.T, stored []byte) {
		r, err := decodeRecord(stored)
		if err != nil {
			return
		}
		again, err := decodeRecord(r.encode())
		require.NoError(t, err)
		r.version = again.version // what is written is of the newest one
		require.Equal(t, r, again)
	})
}
