package state

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/state/keys"
)

func TestASavepointIsTheStateOfItsMoment(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"in memory": vfs.NewMem(), "on disk": vfs.Default} {
		t.Run(name, func(t *testing.T) {
			base := "base"
			if fs == vfs.Default {
				base = t.TempDir()
			}
			at := func(name string) string { return fs.PathJoin(base, name) }
			require.NoError(t, fs.MkdirAll(at("journal"), 0o700))
			writeText(t, fs, at("journal"), "1.seg", "records")

			s, err := Open(at("state"), Options{FS: fs, TableEntries: 50})
			require.NoError(t, err)
			var d Delta
			for i := range uint64(200) {
				d.Set(1, 0, i, []byte("k"), []byte("then"))
			}
			commit(t, s, &d)
			d.Reset()
			d.Put([]byte("position"), []byte("then"))
			commit(t, s, &d)
			want := dump(t, s, 1)

			m, err := s.Save(at("saves/monday"), Manifest{Pipeline: "clicks", Created: 5}, map[string]string{"journal": at("journal"), "nothing": at("nothing")})
			require.NoError(t, err)
			require.Equal(t, "clicks", m.Pipeline)
			require.Positive(t, m.Size())
			_, err = s.Save(at("saves/monday"), Manifest{}, nil)
			require.ErrorIs(t, err, Foreign)

			// Life goes on, with compactions.
			d.Reset()
			d.DropOperator(1)
			d.Put([]byte("position"), []byte("now"))
			commit(t, s, &d)
			require.NoError(t, s.db.Flush())
			require.NoError(t, s.db.Compact(bg, []byte{0}, []byte{9}, false))
			require.NoError(t, s.Close())

			list, err := ListSavepoints(fs, at("saves"))
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, m, list["monday"])

			look, err := Open(at("saves/monday"), Options{FS: fs, ReadOnly: true})
			require.NoError(t, err)
			require.Equal(t, want, dump(t, look, 1))
			require.NoError(t, look.Close())

			_, err = Restore(fs, at("saves/monday"), at("again"), map[string]string{"journal": at("journal2")})
			require.NoError(t, err)
			again, err := Open(at("again"), Options{FS: fs})
			require.NoError(t, err)
			require.Equal(t, want, dump(t, again, 1))
			text, err := readFile(fs, fs.PathJoin(at("journal2"), "1.seg"))
			require.NoError(t, err)
			require.Equal(t, "records", text)
			// What is done to the restored state does not reach the savepoint.
			d.Reset()
			for i := range uint64(200) {
				d.Delete(1, 0, i, []byte("k"))
			}
			commit(t, again, &d)
			require.NoError(t, again.Close())
			_, err = Verify(fs, at("saves/monday"))
			require.NoError(t, err)

			_, err = Restore(fs, at("saves/monday"), at("again"), nil)
			require.ErrorIs(t, err, Foreign)
		})
	}
}

func writeText(t *testing.T, fs vfs.FS, dir, name, text string) {
	require.NoError(t, WriteFile(fs, dir, name, text))
}

func TestChangedSavepointsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t *testing.T, dir string)
		kind Kind
		want string
	}{
		"a table with a flipped bit": {func(t *testing.T, dir string) {
			path := files(t, dir, "db/*.sst")[0]
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			b[len(b)/2] ^= 1
			require.NoError(t, os.Remove(path)) // not through the link
			require.NoError(t, os.WriteFile(path, b, 0o600))
		}, BadSavepoint, ".sst: TM6010: a file of the savepoint has changed"},
		"a file cut short": {func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(files(t, dir, "db/MANIFEST-*")[0], 3))
		}, BadSavepoint, "MANIFEST"},
		"a file gone": {func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(files(t, dir, "db/OPTIONS-*")[0]))
		}, BadSavepoint, "is gone"},
		"no manifest": {func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, manifestName)))
		}, BadSavepoint, "not a savepoint"},
		"a torn manifest": {func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, manifestName), 30))
		}, BadSavepoint, "the manifest cannot be read"},
		"from the future": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, manifestName)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(b), `"format": 1`, `"format": 7`, 1)), 0o600))
		}, TooNew, "has format 7"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := written(t)
			s, err := Open(dir, Options{})
			require.NoError(t, err)
			saved := dir + ".saved"
			_, err = s.Save(saved, Manifest{}, nil)
			require.NoError(t, err)
			require.NoError(t, s.Close())
			c.harm(t, saved)
			target := dir + ".target"
			_, err = Restore(vfs.Default, saved, target, nil)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.want)
			require.NoDirExists(t, target)
		})
	}
}

func TestASavepointWhileCommitting(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := open(t, disk, Options{})
	done := make(chan error, 1)
	go func() {
		for i := range 200 {
			var d Delta
			d.Put([]byte("a"), []byte(fmt.Sprint(i)))
			d.Set(1, 0, 0, []byte("k"), []byte(fmt.Sprint(i)))
			if _, err := s.Commit(bg, &d); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for i := range 5 {
		_, err := s.Save(fmt.Sprint("saves/", i), Manifest{}, nil)
		require.NoError(t, err)
	}
	require.NoError(t, <-done)
	after := disk.CrashClone(vfs.CrashCloneCfg{}) // a finished savepoint survives a crash
	for i := range 5 {
		_, err := Restore(after, fmt.Sprint("saves/", i), fmt.Sprint("again/", i), nil)
		require.NoError(t, err)
		again, err := Open(fmt.Sprint("again/", i), Options{FS: after})
		require.NoError(t, err)
		a, err := again.Meta([]byte("a"))
		require.NoError(t, err)
		k, _, err := again.Get(1, 0, 0, []byte("k"))
		require.NoError(t, err)
		require.Equal(t, string(a), string(k), "a savepoint holds whole commits")
		require.NoError(t, again.Close())
	}
}

// A savepoint that is finished, and a state that is restored, survive a power failure with all that belongs to them.
func TestSavepointsAndRestoredStatesAreOnTheDisk(t *testing.T) {
	disk := vfs.NewCrashableMem()
	require.NoError(t, MakeDir(disk, "p/journal/clicks"))
	require.NoError(t, WriteFile(disk, "p/journal/clicks", "1.seg", "records"))
	s, err := Open("p/state", Options{FS: disk})
	require.NoError(t, err)
	var d Delta
	d.Put([]byte("position"), []byte("then"))
	commit(t, s, &d)
	want := dump(t, s)
	_, err = s.Save("saves/monday", Manifest{Pipeline: "p"}, map[string]string{"journal": "p/journal"})
	require.NoError(t, err)
	after := disk.CrashClone(vfs.CrashCloneCfg{})
	require.NoError(t, s.Close())

	_, err = Verify(after, "saves/monday")
	require.NoError(t, err)
	with := map[string]string{"journal": "q/journal"}
	_, err = Restore(after, "saves/monday", "q/state", with)
	require.NoError(t, err)
	after = after.CrashClone(vfs.CrashCloneCfg{})
	s, err = Open("q/state", Options{FS: after})
	require.NoError(t, err)
	require.Equal(t, want, dump(t, s))
	text, err := readFile(after, "q/journal/clicks/1.seg")
	require.NoError(t, err)
	require.Equal(t, "records", text)
	require.NoError(t, s.Close())

	// What was left lying there would mix with what is restored.
	_, err = Restore(after, "saves/monday", "q/other", with)
	require.ErrorIs(t, err, Foreign)
	require.ErrorContains(t, err, "q/journal")
}

// TestASavepointBesideCommits: commits that go as batches and commits that go as tables take turns, each of which puts the entries of one time in the
// place of those of the time before. Every savepoint holds one time, whole.
func TestASavepointBesideCommits(t *testing.T) {
	const entries = 500
	root := t.TempDir()
	s, err := Open(filepath.Join(root, "state"), Options{PaneEntries: 10, TableEntries: 600, MemTableSize: 256 << 10})
	require.NoError(t, err)
	stop, committed := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := int64(1); ; i++ {
			var d Delta
			d.DropTime(1, i-1)
			for k := range uint64(entries) {
				d.Set(1, i, k<<50, fmt.Append(nil, k), make([]byte, 60))
			}
			if i%3 == 0 { // more than a batch takes
				for k := range uint64(200) {
					d.Set(2, 0, k<<50, fmt.Append(nil, k), make([]byte, 60))
				}
			}
			_, err := s.Commit(context.Background(), &d)
			select {
			case <-stop:
				committed <- err
				return
			default:
			}
			if err != nil {
				committed <- err
				return
			}
		}
	}()
	for i := range 20 {
		saved, state := filepath.Join(root, fmt.Sprint("saved", i)), filepath.Join(root, fmt.Sprint("restored", i))
		_, err := s.Save(saved, Manifest{}, nil)
		require.NoError(t, err)
		_, err = Restore(vfs.Default, saved, state, nil)
		require.NoError(t, err)
		r, err := Open(state, Options{})
		require.NoError(t, err)
		seen := map[int64]int{}
		require.NoError(t, r.ScanOperator(1, keys.AllHashes(), func(time int64, _ uint64, _, _ []byte) error { seen[time]++; return nil }))
		require.NoError(t, r.Close())
		require.LessOrEqual(t, len(seen), 1, "times and their entries: %v", seen)
		for _, n := range seen {
			require.Equal(t, entries, n)
		}
	}
	close(stop)
	require.NoError(t, <-committed)
	require.NoError(t, s.Close())
}
