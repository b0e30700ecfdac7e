package state

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// Windows with ten thousand keys: each commit writes most keys of the open window anew and some of the next one, and drops a window at times, beside a
// record that it writes anew and a small window that stays. What is dropped is dead, and compactions are not to be at it again.
func TestALargePaneThatIsDroppedIsNotCompacted(t *testing.T) {
	s, err := Open("state", Options{FS: vfs.NewMem(), CutBytes: 1 << 20})
	require.NoError(t, err)
	defer s.Close()
	const commits, written = 5, 10_000 // to a window, entries to a commit
	value := bytes.Repeat([]byte("v"), 100)
	var d Delta
	bytes := 0
	for i := range 200 {
		window := int64(i / commits)
		d.Reset()
		if i%commits == 0 && window > 0 {
			d.DropTime(1, window-1)
		}
		for k := range uint64(written) {
			d.Set(1, window+int64(k%8/7), k<<50, fmt.Append(nil, k), value)
		}
		d.Set(2, 0, uint64(i), nil, value)
		d.Put(keys.Name(nil).Text("checkpoint"), fmt.Append(nil, i))
		commit(t, s, &d)
		bytes += d.Size()
	}
	var windows []int64
	require.NoError(t, s.Times(1, keys.AllHashes(), func(time int64) error {
		windows = append(windows, time)
		return nil
	}))
	require.Equal(t, []int64{39, 40}, windows)
	small := 0
	require.NoError(t, s.ScanOperator(2, keys.AllHashes(), func(int64, uint64, []byte, []byte) error {
		small++
		return nil
	}))
	require.Equal(t, 200, small)
	m := s.db.Metrics()
	t.Log(m.String())
	var read, again uint64
	for _, l := range m.Levels {
		read, again = read+l.TableBytesRead, again+l.TableBytesCompacted
	}
	require.Less(t, read, uint64(bytes/2), "by compactions; all of it, if nothing is cut out")
	require.Less(t, again, uint64(bytes/10))
	used, err := s.db.EstimateDiskUsage(keys.Bounds())
	require.NoError(t, err)
	require.Less(t, used, uint64(bytes/10))
}

// While somebody looks at a commit, a window that it has is not cut out, though it is dropped.
func TestAViewKeepsItsPanes(t *testing.T) {
	s, err := Open("state", Options{FS: vfs.NewMem(), TableEntries: 1, PaneEntries: 1, CutBytes: 1})
	require.NoError(t, err)
	defer s.Close()
	var d Delta
	for k := range uint64(100) {
		d.Set(1, 0, k, nil, []byte("v"))
	}
	commit(t, s, &d)
	v, err := s.View()
	require.NoError(t, err)
	count := func() (n int) {
		require.NoError(t, v.VisitKeys(1, func(int64, uint64, []byte) error {
			n++
			return nil
		}))
		return n
	}
	require.Equal(t, 100, count())
	d.Reset()
	d.DropTime(1, 0)
	commit(t, s, &d)
	require.Empty(t, dump(t, s, 1))
	require.Equal(t, 100, count())
	require.NoError(t, v.Close())
}
