package decode

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// part makes a batch of rows that stand at a place of a partition.
func partOf(partition uint32, base int64, rows ...string) *batch.Batch {
	b := lines(rows...)
	b.Partition, b.Base = partition, base
	return b
}

func liveRows(b *batch.Batch) (rows []string) {
	for k := range b.Alive() {
		i := k
		if b.Sel != nil {
			i = int(b.Sel[k])
		}
		rows = append(rows, string(b.Row(i)))
	}
	return rows
}

func TestHeadersStory(t *testing.T) {
	spec := Spec{Format: FormatCSV, Header: true}
	h := NewHeaders(spec)
	require.Nil(t, NewHeaders(Spec{Format: FormatCSV}), "columns are declared")
	require.Nil(t, NewHeaders(Spec{Format: FormatJSON, Header: true}))

	// A partition begins with blank lines, a byte order mark and a carriage return.
	b := partOf(1, 0, "", "\xef\xbb\xbfa,b\r", "1,2")
	require.Equal(t, 2, h.Attach(b))
	require.Equal(t, []string{"1,2"}, liveRows(b))
	require.Equal(t, "\xef\xbb\xbfa,b\r", string(b.Header))

	// The next batch brings the header again, because files were joined.
	b = partOf(1, 3, "3,4", "a,b", "5,6")
	require.Equal(t, 1, h.Attach(b))
	require.Equal(t, []string{"3,4", "5,6"}, liveRows(b))
	require.NotEmpty(t, b.Header)

	// Another partition has its own, which comes in the second batch only.
	b = partOf(2, 0, "")
	require.Equal(t, 1, h.Attach(b))
	require.Empty(t, b.Header)
	b = partOf(2, 1, "b,a", "x,y")
	require.Equal(t, 1, h.Attach(b))
	require.Equal(t, "b,a", string(b.Header))

	// After a restart in the middle both are still known.
	stored := h.Snapshot()
	h = NewHeaders(spec)
	require.NoError(t, h.Restore(stored))
	require.Equal(t, stored, h.Snapshot())
	b = partOf(1, 6, "7,8")
	require.Equal(t, 0, h.Attach(b))
	require.Equal(t, "\xef\xbb\xbfa,b\r", string(b.Header))
	require.Nil(t, b.Sel, "nothing was taken out")

	// The file was rotated: its rows begin at 0 again, with columns in another order.
	b = partOf(1, 0, "b,a", "9,10")
	require.Equal(t, 1, h.Attach(b))
	require.Equal(t, "b,a", string(b.Header))

	// A partition that is continued in its middle without a state, or has ended, has no header.
	h.Forget(2)
	for _, p := range []uint32{2, 3} {
		b = partOf(p, 5, "1,2")
		require.Equal(t, 0, h.Attach(b))
		require.Empty(t, b.Header)
		d, errs := New(Spec{Format: FormatCSV, Header: true, Fields: fields("a")})
		require.NoError(t, errs.Err())
		d.Decode(b)
		require.Equal(t, CodeNoHeader, b.Bad[0].Code)
	}

	// A source that knows the header brings it itself.
	b = partOf(4, 100, "1,2", "x,y")
	b.Header = []byte("x,y")
	require.Equal(t, 1, h.Attach(b))
	require.Equal(t, []string{"1,2"}, liveRows(b))

	// Rows that were taken out before are not looked at.
	b = partOf(5, 0, "dead", "a,b", "1,2")
	b.Refuse(0, "x", "")
	b.Narrow(0)
	require.Equal(t, 1, h.Attach(b))
	require.Equal(t, []string{"1,2"}, liveRows(b))
}

func TestHeadersByByteOffset(t *testing.T) {
	h := NewHeaders(Spec{Format: FormatCSV, Header: true})
	b := partOf(1, 0, "a,b", "1,2")
	b.Unit = batch.ByteOffset
	require.Equal(t, 1, h.Attach(b))
	b = partOf(1, 8, "3,4")
	b.Unit = batch.ByteOffset
	require.Equal(t, 0, h.Attach(b))
	require.Equal(t, "a,b", string(b.Header))
}

// Sources take a byte order mark away, and the header's position is the one behind it.
func TestHeadersBehindAByteOrderMark(t *testing.T) {
	h := NewHeaders(Spec{Format: FormatCSV, Header: true})
	attach := func(partition uint32, base int64, rows ...string) (*batch.Batch, int) {
		b := partOf(partition, base, rows...)
		b.Unit = batch.ByteOffset
		return b, h.Attach(b)
	}
	b, n := attach(1, 3, "a,b", "1,2")
	require.Equal(t, 1, n)
	require.Equal(t, "a,b", string(b.Header))
	_, n = attach(1, 11, "3,4")
	require.Equal(t, 0, n)

	// A new generation of the file, with a mark as well.
	b, n = attach(1, 3, "b,a", "1,2")
	require.Equal(t, 1, n)
	require.Equal(t, "b,a", string(b.Header))

	// The second row of a file whose header has two characters stands there, too.
	_, n = attach(2, 0, "ab")
	require.Equal(t, 1, n)
	b, n = attach(2, 3, "12")
	require.Equal(t, 0, n)
	require.Equal(t, "ab", string(b.Header))
	h.Know(3, []byte("ab"))
	_, n = attach(3, 3, "12")
	require.Equal(t, 0, n)
}

func TestHeadersRefuseDamage(t *testing.T) {
	h := NewHeaders(Spec{Format: FormatCSV, Header: true})
	h.Attach(partOf(1, 0, "a,b", "1,2"))
	good := h.Snapshot()
	for n := range good {
		require.Error(t, h.Restore(good[:n]))
	}
	require.Error(t, h.Restore(append(good, 0)))
	require.Error(t, h.Restore([]byte{2, 0}))
	require.NoError(t, h.Restore([]byte{headersVersion, 0}))
}

// TestHeadersAnyBatches cuts the same rows in all ways, with a restart between any two batches.
func TestHeadersAnyBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SampledFrom([]string{"a,b", "b,a", "", "1,2", "a,b\r"}), 1, 12).Draw(t, "rows")
		spec := Spec{Format: FormatCSV, Header: true}
		whole := NewHeaders(spec)
		b := partOf(0, 0, rows...)
		count := whole.Attach(b)
		want := liveRows(b)

		h, got, taken := NewHeaders(spec), []string(nil), 0
		for at := 0; at < len(rows); {
			n := rapid.IntRange(1, len(rows)-at).Draw(t, "n")
			b := partOf(0, int64(at), rows[at:at+n]...)
			taken += h.Attach(b)
			got = append(got, liveRows(b)...)
			at += n
			fresh := NewHeaders(spec)
			require.NoError(t, fresh.Restore(h.Snapshot()))
			h = fresh
		}
		require.Equal(t, want, got)
		require.Equal(t, count, taken)
	})
}

func FuzzHeaders(f *testing.F) {
	h := NewHeaders(Spec{Format: FormatCSV, Header: true})
	h.Attach(partOf(1, 0, "a,b", "1,2"))
	f.Add(h.Snapshot())
	f.Fuzz(func(t *testing.T, s []byte) {
		h := NewHeaders(Spec{Format: FormatCSV, Header: true})
		if h.Restore(s) == nil {
			again := NewHeaders(Spec{Format: FormatCSV, Header: true})
			require.NoError(t, again.Restore(h.Snapshot()))
			require.Equal(t, h.known, again.known)
		}
	})
}
