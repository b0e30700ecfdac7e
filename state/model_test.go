package state

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// model is what a store should hold: a map that is copied at each commit. It knows nothing of batches, tables, order or files.
type model map[string]string

func (m model) lines() []string {
	out := make([]string, 0, len(m))
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// but is m without the names that begin so.
func (m model) but(prefix string) model {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(name, _ string) bool { return strings.HasPrefix(name, prefix) })
	return out
}

func entryName(op uint32, time int64, hash uint64, key string) string {
	return fmt.Sprintf("state %d %d %03d %s", op, time, hash, key)
}

func metaName(n uint64) string { return fmt.Sprintf("meta %d", n) }

func runName(run string, n uint64) string { return fmt.Sprintf("run %s %d", run, n) }

func modelOf(t require.TestingT, s *Store) model {
	m := model{}
	require.NoError(t, s.ScanMeta(keys.Name(nil).Text("m"), func(name, value []byte) error {
		r := keys.ReadName(name)
		r.Text()
		m[metaName(r.Number())] = string(value)
		return r.End()
	}))
	require.NoError(t, s.ScanMeta(keys.Run("r"), func(name, value []byte) error {
		r := keys.ReadName(name)
		r.Text()
		r.Text()
		m[runName(r.Text(), r.Number())] = string(value)
		return r.End()
	}))
	for op := range uint32(3) {
		require.NoError(t, s.ScanOperator(op, keys.AllHashes(), func(time int64, hash uint64, key, value []byte) error {
			m[entryName(op, time, hash, string(key))] = string(value)
			return nil
		}))
	}
	return m
}

// drawDeltas makes the changes of a commit: some deltas, each of a shard, and what they make of m.
func drawDeltas(t *rapid.T, m model) ([]*Delta, model) {
	next := maps.Clone(m)
	shards := rapid.IntRange(1, 3).Draw(t, "shards")
	deltas := make([]*Delta, shards)
	for i := range deltas {
		own := keys.Hashes{First: uint64(i) * 100 / uint64(shards), Last: uint64(i+1)*100/uint64(shards) - 1}
		d := NewDelta(own)
		deltas[i] = d
		hashes := rapid.Uint64Range(own.First, min(own.First+4, own.Last))
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			op := rapid.Uint32Range(0, 2).Draw(t, "operator")
			time := rapid.Int64Range(-1, 2).Draw(t, "time")
			hash := hashes.Draw(t, "hash")
			key := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key")
			value := rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "value")
			name := entryName(op, time, hash, key)
			switch rapid.IntRange(0, 10).Draw(t, "change") {
			case 0, 1, 2, 3:
				d.Set(op, time, hash, []byte(key), []byte(value))
				next[name] = value
			case 4, 5, 6:
				d.Merge(op, time, hash, []byte(key), []byte(value))
				next[name] += value
			case 7:
				d.Delete(op, time, hash, []byte(key))
				delete(next, name)
			case 8:
				d.DropTime(op, time)
				for h := own.First; h <= own.Last; h++ {
					for _, k := range []string{"", "a", "b"} {
						delete(next, entryName(op, time, h, k))
					}
				}
			case 9:
				drawMeta(t, d, next, value)
			case 10:
				if shards > 1 {
					continue // deltas side by side have no order between them
				}
				d.DropOperator(op)
				maps.DeleteFunc(next, func(name, _ string) bool { return strings.HasPrefix(name, fmt.Sprintf("state %d ", op)) })
			}
		}
	}
	return deltas, next
}

func drawMeta(t *rapid.T, d *Delta, next model, value string) {
	if rapid.Bool().Draw(t, "of a run") {
		drawRun(t, d, next, value)
		return
	}
	n := rapid.Uint64Range(0, 5).Draw(t, "n")
	name := func(n uint64) []byte { return keys.Name(nil).Text("m").Number(n) }
	switch rapid.IntRange(0, 2).Draw(t, "meta") {
	case 0:
		d.Put(name(n), []byte(value))
		next[metaName(n)] = value
	case 1:
		d.Remove(name(n))
		delete(next, metaName(n))
	case 2:
		to := rapid.Uint64Range(0, 6).Draw(t, "to")
		d.RemoveRange(name(n), name(to))
		for i := n; i < to; i++ {
			delete(next, metaName(i))
		}
	}
}

// drawRun changes one of two runs, mostly as runs are changed: values come behind, others go in front.
func drawRun(t *rapid.T, d *Delta, next model, value string) {
	run := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "run")
	name := func(n uint64) []byte { return keys.Run("r").Text(run).Number(n) }
	from, to := uint64(0), uint64(0) // what is there: [from, to)
	for n := range uint64(40) {
		if _, ok := next[runName(run, n)]; ok {
			if to == 0 {
				from = n
			}
			to = n + 1
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "change of a run") {
	case 0, 1, 2:
		d.Put(name(to), []byte(value))
		next[runName(run, to)] = value
	case 3, 4:
		live := rapid.Uint64Range(from, to).Draw(t, "live")
		d.RemoveRange(name(from), name(live))
		for n := from; n < live; n++ {
			delete(next, runName(run, n))
		}
	case 5:
		prefix := keys.Run("r").Text(run)
		d.RemoveRange(prefix, keys.After(prefix))
		for n := range to {
			delete(next, runName(run, n))
		}
	}
}

// camera takes a picture of the disk, as a crash would leave it, before the n-th operation from now.
type camera struct {
	disk    *vfs.MemFS
	left    atomic.Int64 // operations until the picture; 0 = none is due
	cfg     vfs.CrashCloneCfg
	picture atomic.Pointer[vfs.MemFS]
}

func (c *camera) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && c.left.Load() > 0 && c.left.Add(-1) == 0 {
		c.picture.Store(c.disk.CrashClone(c.cfg))
	}
	return nil
}

func (c *camera) String() string { return "camera" }

// TestModel does random things to a store and to a map, and attacks S1 (all or nothing), S2 (committed is committed) and S3 (no way of
// writing shows): commits as batch or table by chance, crashes between and in the middle of commits with any part of the unsynced
// bytes lost, clean restarts, savepoints and flushes. `go test ./state -run TestModel -rapid.checks=10000` takes it further.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		crash := func(percent int) vfs.CrashCloneCfg {
			return vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 42))}
		}
		percents := rapid.SampledFrom([]int{0, 50, 100})
		opts := Options{
			TableEntries: rapid.SampledFrom([]int{1, 10, 1 << 30}).Draw(t, "table entries"), MemTableSize: 256 << 10,
			PaneEntries: rapid.SampledFrom([]int{1, 3, 1 << 30}).Draw(t, "pane entries"), CutBytes: rapid.SampledFrom([]int64{1, 1 << 30}).Draw(t, "cut bytes"),
		}

		disk := vfs.NewCrashableMem()
		cam := &camera{disk: disk}
		var s *Store
		reopen := func() {
			cam = &camera{disk: disk}
			o := opts
			o.FS = errorfs.Wrap(disk, cam)
			var err error
			s, err = Open("state", o)
			require.NoError(t, err)
			for op := range uint32(3) {
				s.SetFold(op, concat)
			}
		}
		reopen()
		var view *View
		var viewed model // what it must show
		lookAway := func() {
			if view != nil {
				require.NoError(t, view.Close())
				view = nil
			}
		}
		defer func() {
			lookAway()
			_ = s.Close()
		}()
		m := model{}

		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				require.Equal(t, m.lines(), modelOf(t, s).lines())
				if view != nil { // runs are not shown by views
					require.Equal(t, viewed.but("run ").lines(), modelOf(t, view.store).but("run ").lines())
				}
			},
			"look": func(t *rapid.T) {
				lookAway()
				var err error
				view, err = s.View()
				require.NoError(t, err)
				viewed = m
			},
			"look away": func(*rapid.T) { lookAway() },
			"commit": func(t *rapid.T) {
				deltas, next := drawDeltas(t, m)
				_, err := s.Commit(bg, deltas...)
				require.NoError(t, err)
				m = next
			},
			"crash": func(t *rapid.T) {
				after := disk.CrashClone(crash(percents.Draw(t, "survives")))
				lookAway()
				_ = s.Close()
				disk = after
				reopen()
			},
			"crash in a commit": func(t *rapid.T) {
				deltas, next := drawDeltas(t, m)
				cam.cfg = crash(percents.Draw(t, "survives"))
				cam.left.Store(int64(rapid.IntRange(1, 40).Draw(t, "operations")))
				_, err := s.Commit(bg, deltas...)
				require.NoError(t, err)
				cam.left.Store(0)
				after := cam.picture.Load()
				if after == nil { // the commit was done before
					m = next
					return
				}
				lookAway()
				_ = s.Close()
				disk = after
				reopen()
				got := modelOf(t, s).lines()
				if !slices.Equal(got, m.lines()) {
					require.Equal(t, next.lines(), got)
					m = next
				}
			},
			"restart": func(t *rapid.T) {
				lookAway()
				require.NoError(t, s.Close())
				reopen()
			},
			"flush": func(t *rapid.T) { require.NoError(t, s.db.Flush()) },
			"compact": func(t *rapid.T) {
				start, end := keys.Bounds()
				require.NoError(t, s.db.Compact(bg, start, end, false))
			},
		})
	})
}

// TestEveryOperationMayFail lets each single write operation of a commit fail in turn. The commit says so, or has happened; the store that
// is opened afterwards holds the state before or after, and after if the commit had answered without an error.
func TestEveryOperationMayFail(t *testing.T) {
	both(t, func(t *testing.T, opts Options) {
		failures := 0
		for n := int32(0); ; n++ {
			disk := vfs.NewCrashableMem()
			toggle := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error { return nil })}
			left := atomic.Int32{}
			left.Store(n)
			injected := atomic.Bool{}
			toggle.Injector = errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && left.Add(-1) == -1 {
					injected.Store(true)
					return errorfs.ErrInjected
				}
				return nil
			})
			o := opts
			o.FS = errorfs.Wrap(disk, toggle)
			s, err := Open("state", o)
			require.NoError(t, err)
			var old, d Delta
			old.Set(1, 0, 0, []byte("k"), []byte("old"))
			commit(t, s, &old)
			d.Set(1, 0, 0, []byte("k"), []byte("new"))
			d.Put([]byte("position"), []byte("new"))
			toggle.On()
			_, err = s.Commit(bg, &d)
			toggle.Off()
			if err != nil {
				failures++
				require.ErrorIs(t, err, Broken)
				require.Error(t, s.Err())
				_, again := s.Commit(bg, &d)
				require.ErrorIs(t, again, Broken)
			}
			_ = s.Close()

			before := []string{"1@0/0/k=old"}
			after := []string{`"position"="new"`, "1@0/0/k=new"}
			for name, fs := range map[string]vfs.FS{"reopened": disk, "crashed": disk.CrashClone(vfs.CrashCloneCfg{})} {
				s, openErr := Open("state", Options{FS: fs})
				require.NoError(t, openErr, "%s after failing operation %d", name, n)
				got := dump(t, s, 1)
				if err == nil {
					require.Equal(t, after, got, "%s after failing operation %d", name, n)
				} else if !slices.Equal(before, got) {
					require.Equal(t, after, got, "%s after failing operation %d", name, n)
				}
				require.NoError(t, s.Close())
			}
			if !injected.Load() {
				break
			}
		}
		require.Greater(t, failures, 0, "no operation of the commit failed")
	})
}

// TestOpenMayFailAnywhere does the same to opening: an error with a code, and no harm done.
func TestOpenMayFailAnywhere(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Options{})
	var d Delta
	d.Set(1, 0, 0, []byte("k"), []byte("v"))
	commit(t, s, &d)
	require.NoError(t, s.Close())
	failures := 0
	for n := int32(0); ; n++ {
		failed := atomic.Bool{}
		left := atomic.Int32{}
		left.Store(n)
		toggle := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(errorfs.Op) error {
			if left.Add(-1) == -1 {
				failed.Store(true)
				return errorfs.ErrInjected
			}
			return nil
		})}
		toggle.On()
		s, err := Open("dir", Options{FS: errorfs.Wrap(disk, toggle)})
		toggle.Off()
		if err == nil { // what failed did not matter, or nothing did
			require.Equal(t, []string{"1@0/0/k=v"}, dump(t, s, 1))
			require.NoError(t, s.Close())
			if !failed.Load() {
				break
			}
			continue
		}
		failures++
		require.Regexp(t, `TM60\d\d: `, err.Error())
		s, err = Open("dir", Options{FS: disk})
		require.NoError(t, err, "after operation %d had failed", n)
		require.Equal(t, []string{"1@0/0/k=v"}, dump(t, s, 1))
		require.NoError(t, s.Close())
	}
	require.Greater(t, failures, 10)
}
