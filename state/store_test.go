package state

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/state/keys"
)

var bg = context.Background()

func open(t testing.TB, fs vfs.FS, opts Options) *Store {
	t.Helper()
	opts.FS = fs
	s, err := Open("dir", opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func commit(t testing.TB, s *Store, deltas ...*Delta) Stats {
	t.Helper()
	stats, err := s.Commit(bg, deltas...)
	require.NoError(t, err)
	return stats
}

// dump is everything a store holds, as text.
func dump(t testing.TB, s *Store, operators ...uint32) []string {
	t.Helper()
	var out []string
	require.NoError(t, s.ScanMeta(nil, func(name, value []byte) error {
		if bytes.HasPrefix(name, keys.Name(nil).Text("commits")) {
			return nil // the store's own, see mark.go
		}
		out = append(out, fmt.Sprintf("%q=%q", name, value))
		return nil
	}))
	for _, op := range operators {
		require.NoError(t, s.ScanOperator(op, keys.AllHashes(), func(time int64, hash uint64, key, value []byte) error {
			out = append(out, fmt.Sprintf("%d@%d/%d/%s=%s", op, time, hash, key, value))
			return nil
		}))
	}
	return out
}

// both runs a test with commits as batches and as tables.
func both(t *testing.T, test func(t *testing.T, opts Options)) {
	t.Run("batch", func(t *testing.T) { test(t, Options{TableEntries: 1 << 30, TableBytes: 1 << 30}) })
	t.Run("table", func(t *testing.T) { test(t, Options{TableEntries: 1}) })
}

// concat is a fold whose result shows every operand and their order.
func concat(dst, older, newer []byte) ([]byte, error) {
	return append(append(dst, older...), newer...), nil
}

func TestCommittedIsThereAfterReopening(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		fs := vfs.NewMem()
		s := open(t, fs, opts)
		var d Delta
		d.Set(1, 5, 10, []byte("b"), []byte("B"))
		d.Set(1, -5, 10, []byte("a"), []byte("A"))
		d.Set(2, 0, 1, []byte("x"), nil)
		d.Put([]byte("position"), []byte("42"))
		commit(t, s, &d)
		want := []string{`"position"="42"`, "1@-5/10/a=A", "1@5/10/b=B", "2@0/1/x="}
		require.Equal(t, want, dump(t, s, 1, 2))
		require.NoError(t, s.Close())

		s = open(t, fs, opts)
		require.Equal(t, want, dump(t, s, 1, 2))
	})
}

func TestLastChangeOfAKeyStands(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		s := open(t, vfs.NewMem(), opts)
		s.SetFold(1, concat)
		k := []byte("k")
		var old, d, e Delta
		for hash := range uint64(7) {
			old.Set(1, 0, hash, k, []byte("old"))
		}
		commit(t, s, &old)

		d.Set(1, 0, 0, k, []byte("a"))
		d.Set(1, 0, 0, k, []byte("b")) // set, set
		d.Set(1, 0, 1, k, []byte("a"))
		d.Delete(1, 0, 1, k) // set, delete
		d.Delete(1, 0, 2, k)
		d.Set(1, 0, 2, k, []byte("a")) // delete, set
		d.Merge(1, 0, 3, k, []byte("+1"))
		d.Merge(1, 0, 3, k, []byte("+2")) // merge, merge
		d.Delete(1, 0, 4, k)
		d.Merge(1, 0, 4, k, []byte("+1")) // delete, merge
		d.Set(1, 0, 5, k, []byte("a"))
		e.Merge(1, 0, 5, k, []byte("+1")) // set, merge, in two deltas
		d.Merge(1, 0, 6, k, []byte("+1"))
		e.Set(1, 0, 6, k, []byte("a"))    // merge, set, in two deltas
		d.Merge(1, 0, 7, k, []byte("+1")) // merge into nothing
		commit(t, s, &d, &e)
		require.Equal(t, []string{
			"1@0/0/k=b", "1@0/2/k=a", "1@0/3/k=old+1+2", "1@0/4/k=+1", "1@0/5/k=a+1", "1@0/6/k=a", "1@0/7/k=+1",
		}, dump(t, s, 1))
	})
}

func TestDroppedTimeTakesWhatCameBeforeIt(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		s := open(t, vfs.NewMem(), opts)
		s.SetFold(1, concat)
		var old, d Delta
		for time := int64(0); time < 3; time++ {
			old.Set(1, time, 7, []byte("k"), []byte("old"))
		}
		old.Set(2, 1, 7, []byte("k"), []byte("other operator"))
		commit(t, s, &old)

		d.Set(1, 1, 1, []byte("before"), []byte("gone"))
		d.DropTime(1, 1)
		d.Set(1, 1, 2, []byte("after"), []byte("stays"))
		d.Merge(1, 1, 7, []byte("k"), []byte("new")) // must not find the old value under the dropped run
		commit(t, s, &d)
		require.Equal(t, []string{
			"1@0/7/k=old", "1@1/2/after=stays", "1@1/7/k=new", "1@2/7/k=old", "2@1/7/k=other operator",
		}, dump(t, s, 1, 2))
	})
}

func TestAShardDropsOnlyItsOwnHashes(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		s := open(t, vfs.NewMem(), opts)
		low, high := NewDelta(keys.Hashes{First: 0, Last: 99}), NewDelta(keys.Hashes{First: 100, Last: ^uint64(0)})
		low.Set(1, 0, 99, []byte("low"), nil)
		high.Set(1, 0, 100, []byte("high"), nil)
		commit(t, s, low, high)
		low.Reset()
		high.Reset()
		low.DropTime(1, 0)
		high.Set(1, 0, 101, []byte("new"), nil)
		commit(t, s, low, high)
		require.Equal(t, []string{"1@0/100/high=", "1@0/101/new="}, dump(t, s, 1))
	})
}

func TestMetaRuns(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		s := open(t, vfs.NewMem(), opts)
		row := func(n uint64) []byte { return keys.Name(nil).Text("out").Number(n) }
		var d Delta
		for n := range uint64(6) {
			d.Put(row(n), []byte{byte('0' + n)})
		}
		commit(t, s, &d)
		d.Reset()
		d.Put(row(1), []byte("gone"))
		d.RemoveRange(row(0), row(2))
		d.RemoveRange(row(1), row(4)) // runs may overlap
		d.Put(row(3), []byte("stays"))
		d.Remove(row(5))
		commit(t, s, &d)
		var got []string
		require.NoError(t, s.ScanMeta(keys.Name(nil).Text("out"), func(name, value []byte) error {
			got = append(got, string(value))
			return nil
		}))
		require.Equal(t, []string{"stays", "4"}, got)
		v, err := s.Meta(row(3))
		require.NoError(t, err)
		require.Equal(t, "stays", string(v))
		v, err = s.Meta(row(0))
		require.NoError(t, err)
		require.Nil(t, v)
	})
}

func TestScansByHashAndTimes(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	var d Delta
	for time := int64(-2); time < 3; time++ {
		for hash := range uint64(200) {
			d.Set(1, time*1000, hash, []byte("k"), []byte("v"))
		}
	}
	d.Set(1, 5000, 3, nil, nil)
	commit(t, s, &d)
	middle := keys.Hashes{First: 100, Last: 120}
	n := 0
	require.NoError(t, s.ScanOperator(1, middle, func(time int64, hash uint64, key, value []byte) error {
		require.True(t, middle.Contains(hash))
		n++
		return nil
	}))
	require.Equal(t, 5*21, n)
	n = 0
	require.NoError(t, s.Scan(1, -2000, middle, func(time int64, hash uint64, key, value []byte) error {
		require.Equal(t, uint64(100+n), hash)
		if n++; n == 10 {
			return ErrStop
		}
		return nil
	}))
	require.Equal(t, 10, n)

	times := func(h keys.Hashes) (out []int64) {
		require.NoError(t, s.Times(1, h, func(time int64) error { out = append(out, time); return nil }))
		return out
	}
	require.Equal(t, []int64{-2000, -1000, 0, 1000, 2000}, times(middle))
	require.Equal(t, []int64{-2000, -1000, 0, 1000, 2000, 5000}, times(keys.AllHashes()))
	require.Empty(t, times(keys.Hashes{First: 500, Last: 600}))
}

func TestOperandsWaitForTheirFold(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		fs := vfs.NewMem()
		s := open(t, fs, opts)
		for _, v := range []string{"a", "b", "c"} {
			var d Delta
			d.Merge(1, 0, 0, []byte("k"), []byte(v))
			commit(t, s, &d)
		}
		require.NoError(t, s.db.Flush())
		require.NoError(t, s.db.Compact(bg, []byte{0}, []byte{9}, false)) // nobody has said how to fold yet
		err := s.ScanOperator(1, keys.AllHashes(), func(int64, uint64, []byte, []byte) error { return nil })
		require.ErrorContains(t, err, "no fold is known for operator 1")
		require.NoError(t, s.Err(), "a missing fold is a mistake of the reader, not of the disk")
		require.NoError(t, s.Close())

		s = open(t, fs, opts)
		s.SetFold(1, concat)
		require.Equal(t, []string{"1@0/0/k=abc"}, dump(t, s, 1))
		v, found, err := s.Get(1, 0, 0, []byte("k"))
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, "abc", string(v))
	})
}

func TestALongKeyAndALongValue(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		s := open(t, vfs.NewMem(), opts)
		long := make([]byte, 3<<20)
		var d Delta
		d.Set(1, 0, 0, []byte("a"), long)
		d.Set(1, 0, 1, long, []byte("v"))
		d.Set(1, 0, 2, []byte("z"), nil)
		commit(t, s, &d)
		n := 0
		require.NoError(t, s.Scan(1, 0, keys.AllHashes(), func(_ int64, _ uint64, key, value []byte) error {
			n += len(key) + len(value)
			return nil
		}))
		require.Equal(t, 1+3<<20+3<<20+1+1, n+0)
	})
}

func TestHooksNameThePlacesOfACommit(t *testing.T) {
	for way, want := range map[Way][]string{
		Batch: {"commit.begin", "commit.end"},
		Table: {"commit.begin", "commit.table", "commit.end"},
	} {
		var places []string
		opts := Options{Hook: func(place string) { places = append(places, place) }}
		if way == Table {
			opts.TableEntries = 1
		}
		s := open(t, vfs.NewMem(), opts)
		var d Delta
		d.Put([]byte("a"), nil)
		require.Equal(t, way, commit(t, s, &d).Way)
		require.Equal(t, want, places)
	}
}
