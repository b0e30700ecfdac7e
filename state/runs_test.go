package state

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// Two runs get values with each commit and lose what is some commits old, beside records that each commit writes anew and state that comes and
// goes: that is what a pipeline with two sinks does. The values of the runs are megabytes, and none of them is to be written twice.
func TestARunIsWrittenOnce(t *testing.T) {
	s, err := Open("state", Options{FS: vfs.NewMem(), TableBytes: 1, TableEntries: 1})
	require.NoError(t, err)
	defer s.Close()
	const chunks, size = 8, 64 << 10
	value := bytes.Repeat([]byte("v"), size)
	name := func(run string, n uint64) keys.Name { return keys.Run("outbox").Text(run).Number(n) }
	var d Delta
	next, live := uint64(0), uint64(0)
	for i := range 100 {
		d.Reset()
		for range chunks {
			d.Put(name("a", next), value)
			d.Put(name("b", next), value)
			next++
		}
		if next > 3*chunks { // the sinks are some rows behind, and stand in the middle of what a commit held
			to := next - 2*chunks - uint64(i%chunks)
			d.RemoveRange(name("a", live), name("a", to))
			d.RemoveRange(name("b", live), name("b", to))
			live = to
		}
		d.Put(keys.Name(nil).Text("checkpoint"), fmt.Append(nil, i))
		d.Set(7, int64(i/10), uint64(i), nil, value[:100])
		_, err := s.Commit(t.Context(), &d)
		require.NoError(t, err)
	}
	for _, run := range []string{"a", "b"} {
		var got []uint64
		require.NoError(t, s.ScanMeta(keys.Run("outbox").Text(run), func(n, v []byte) error {
			r := keys.ReadName(n)
			r.Text()
			r.Text()
			r.Text()
			got = append(got, r.Number())
			require.Len(t, v, size)
			return r.End()
		}))
		require.Equal(t, live, got[0], run)
		require.Len(t, got, int(next-live), run)
	}
	m := s.db.Metrics()
	t.Log(m.String())
	var compacted uint64
	for _, l := range m.Levels {
		compacted += l.TableBytesCompacted
	}
	require.Less(t, compacted, next*size/10)
}
