package state

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// written is a directory on the real disk with something committed.
func written(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	s, err := Open(dir, Options{Fingerprint: []byte("clicks 1")})
	require.NoError(t, err)
	var d Delta
	for i := range uint64(1000) {
		d.Set(1, 0, i, []byte("k"), []byte("v"))
	}
	commit(t, s, &d)
	require.NoError(t, s.db.Flush())
	d.Reset()
	d.Put([]byte("position"), []byte("42"))
	commit(t, s, &d)
	require.NoError(t, s.Close())
	return dir
}

func files(t *testing.T, dir, pattern string) []string {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, out, pattern)
	return out
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(t *testing.T, dir string) (opts Options, path string)
		kind Kind
		want string // in the text of the error
	}{
		{"a file in its place", func(t *testing.T, dir string) (Options, string) {
			path := dir + ".file"
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			return Options{}, path
		}, Unwritable, "this is a file"},
		{"a file in the place of its parent", func(t *testing.T, dir string) (Options, string) {
			path := dir + ".file"
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			return Options{}, filepath.Join(path, "state")
		}, Unwritable, "not a directory"},
		{"missing, read-only", func(t *testing.T, dir string) (Options, string) {
			return Options{ReadOnly: true}, dir + ".not"
		}, Missing, "there is no state directory"},
		{"missing, must exist", func(t *testing.T, dir string) (Options, string) {
			return Options{MustExist: true}, dir + ".not"
		}, Missing, "there is no state directory"},
		{"somebody's other directory", func(t *testing.T, dir string) (Options, string) {
			other := dir + ".other"
			require.NoError(t, os.MkdirAll(filepath.Join(other, "photos"), 0o700))
			return Options{}, other
		}, Foreign, `the directory holds "photos"`},
		{"a newer format", func(t *testing.T, dir string) (Options, string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, formatName), []byte("tidemark state, format 99\n"), 0o600))
			return Options{}, dir
		}, TooNew, "the state has format 99, this tidemark reads up to 1"},
		{"a torn format file", func(t *testing.T, dir string) (Options, string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, formatName), []byte("tidemark sta"), 0o600))
			return Options{}, dir
		}, Damaged, formatName},
		{"the format file removed", func(t *testing.T, dir string) (Options, string) {
			require.NoError(t, os.Remove(filepath.Join(dir, formatName)))
			return Options{}, dir
		}, Damaged, "the file that says its format is gone"},
		{"the database removed", func(t *testing.T, dir string) (Options, string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, dbName)))
			return Options{}, dir
		}, Missing, "the database inside this state directory is gone"},
		{"the log removed", func(t *testing.T, dir string) (Options, string) {
			for _, f := range files(t, dir, "db/*.log") {
				require.NoError(t, os.Remove(f))
			}
			return Options{}, dir
		}, Missing, "the log of the database inside this state directory"},
		{"a table removed", func(t *testing.T, dir string) (Options, string) {
			require.NoError(t, os.Remove(files(t, dir, "db/*.sst")[0]))
			return Options{}, dir
		}, Damaged, ".sst"},
		{"a table cut short", func(t *testing.T, dir string) (Options, string) {
			require.NoError(t, os.Truncate(files(t, dir, "db/*.sst")[0], 100))
			return Options{}, dir
		}, Damaged, ".sst"},
		{"a manifest overwritten", func(t *testing.T, dir string) (Options, string) {
			for _, m := range files(t, dir, "db/MANIFEST-*") {
				require.NoError(t, os.WriteFile(m, bytes.Repeat([]byte("x"), 100), 0o600))
			}
			return Options{}, dir
		}, Damaged, "MANIFEST"},
		{"another pipeline", func(t *testing.T, dir string) (Options, string) {
			return Options{Fingerprint: []byte("orders 1")}, dir
		}, Incompatible, "belongs to another pipeline"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := written(t)
			opts, path := c.harm(t, dir)
			before := tree(t, dir)
			_, err := Open(path, opts)
			require.ErrorIs(t, err, c.kind)
			require.Contains(t, err.Error(), c.want)
			require.Contains(t, err.Error(), string(c.kind)+": ")
			var e *Error
			require.True(t, errors.As(err, &e))
			require.NotEmpty(t, e.Hint)
			if c.kind != Incompatible { // that one is found in the database, which may have tidied itself
				require.Subset(t, keysOf(tree(t, dir)), keysOf(before), "nothing is started from empty, nothing is removed")
			}
		})
	}
}

func keysOf(m map[string]bool) []string { return slices.Collect(maps.Keys(m)) }

// tree is the names of all files below dir.
func tree(t *testing.T, dir string) map[string]bool {
	out := map[string]bool{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[path] = true
		}
		return err
	}))
	return out
}

func TestAFlippedBitIsFoundWhenItIsRead(t *testing.T) {
	dir := written(t)
	table := files(t, dir, "db/*.sst")[0]
	b, err := os.ReadFile(table)
	require.NoError(t, err)
	b[len(b)/3] ^= 0x10
	require.NoError(t, os.WriteFile(table, b, 0o600))

	s, err := Open(dir, Options{})
	if err == nil {
		defer s.Close()
		err = s.ScanOperator(1, keys.AllHashes(), func(int64, uint64, []byte, []byte) error { return nil })
	}
	require.ErrorIs(t, err, Damaged)
	require.Contains(t, err.Error(), strings.TrimSuffix(filepath.Base(table), ".sst"))
}

func TestASecondOpenerIsRefusedByName(t *testing.T) {
	dir := written(t)
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	link := dir + ".link"
	require.NoError(t, os.Symlink(dir, link))
	for name, path := range map[string]string{"same path": dir, "through a link": link} {
		_, err = Open(path, Options{})
		require.ErrorIs(t, err, InUse, name)
		require.Contains(t, err.Error(), "in use by process ", name)
		_, err = Open(path, Options{ReadOnly: true})
		require.ErrorIs(t, err, InUse, name)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, dbName, "LOCK"))) // the directory's own lock still holds
	_, err = Open(dir, Options{})
	require.ErrorIs(t, err, InUse)
	require.NoError(t, s.Close())
	s, err = Open(dir, Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestReadOnlyChangesNothing(t *testing.T) {
	dir := written(t)
	before := tree(t, dir)
	s, err := Open(dir, Options{ReadOnly: true})
	require.NoError(t, err)
	v, err := s.Meta([]byte("position")) // stands in the log only
	require.NoError(t, err)
	require.Equal(t, "42", string(v))
	var d Delta
	d.Put([]byte("position"), []byte("43"))
	_, err = s.Commit(bg, &d)
	require.ErrorIs(t, err, Unwritable)
	require.NoError(t, s.Close())
	require.Equal(t, before, tree(t, dir))
}

func TestDirectoriesWithoutPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	parent := t.TempDir()
	require.NoError(t, os.Chmod(parent, 0o555))
	_, err := Open(filepath.Join(parent, "state"), Options{})
	require.ErrorIs(t, err, Unwritable)
	require.Contains(t, err.Error(), "StateDirectory=")

	dir := written(t)
	for _, d := range []string{dir, filepath.Join(dir, dbName)} {
		require.NoError(t, os.Chmod(d, 0o555))
	}
	_, err = Open(dir, Options{})
	require.ErrorIs(t, err, Unwritable)
}

func TestNewDirectoriesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestCreationCutShortIsFinishedLater(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Options{})
	require.NoError(t, s.Close())
	require.NoError(t, disk.Remove("dir/"+formatName))
	s = open(t, disk, Options{})
	require.NoError(t, s.Close())
	_, err := disk.Stat("dir/" + formatName)
	require.NoError(t, err)
}

func TestFingerprint(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Options{Fingerprint: []byte("v1")})
	var d Delta
	d.Put([]byte("a"), nil)
	commit(t, s, &d)
	require.NoError(t, s.Close())

	refused := errors.New("the key of clicks changed")
	_, err := Open("dir", Options{FS: disk, Fingerprint: []byte("v2"), Accept: func(stored []byte) error {
		require.Equal(t, "v1", string(stored))
		return refused
	}})
	require.ErrorIs(t, err, refused)

	// An accepted one is stored with the next commit, not before: until then the state is the old pipeline's.
	for range 2 {
		asked := 0
		s = open(t, disk, Options{Fingerprint: []byte("v2"), Accept: func([]byte) error { asked++; return nil }})
		require.Equal(t, 1, asked)
		require.NoError(t, s.Close())
	}
	s = open(t, disk, Options{Fingerprint: []byte("v2"), Accept: func([]byte) error { return nil }})
	commit(t, s, &d)
	require.NoError(t, s.Close())
	s = open(t, disk, Options{Fingerprint: []byte("v2")})
	got, err := s.Fingerprint()
	require.NoError(t, err)
	require.Equal(t, "v2", string(got))
}

func TestAFullDiskRefusesBeforeItBreaks(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{Reserve: 32 << 20})
	for _, c := range []struct {
		name         string
		avail, total uint64
		need         uint64
		full         bool
	}{
		{"plenty", 1 << 30, 2 << 30, 1 << 20, false},
		{"below the reserve", 31 << 20, 2 << 30, 0, true},
		{"enough for the reserve but not for the commit", 40 << 20, 2 << 30, 16 << 20, true},
		{"a small file system keeps an eighth", 3 << 20, 16 << 20, 0, false},
		{"a small file system, full", 1 << 20, 16 << 20, 0, true},
		{"a file system that does not know", 0, 0, 1 << 40, false},
	} {
		err := s.roomIn(vfs.DiskUsage{AvailBytes: c.avail, TotalBytes: c.total}, c.need)
		if c.full {
			require.ErrorIs(t, err, NoSpace, c.name)
		} else {
			require.NoError(t, err, c.name)
		}
	}
}

// A log is cut short by a crash at its end only. Damage before that must not pass for such an end: the commits behind it would be lost
// without a word.
func TestDamageInTheMiddleOfTheLogIsNotTakenForItsEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	for i := range 40 {
		var d Delta
		d.Put([]byte("position"), bytes.Repeat([]byte{byte('a' + i)}, 3000))
		commit(t, s, &d)
	}
	require.NoError(t, s.Close())
	logs := files(t, dir, "db/*.log")
	path := logs[len(logs)-1]
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(whole, []byte("ccccc"))
	require.Positive(t, at)
	whole[at] ^= 1
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	_, err = Open(dir, Options{})
	require.ErrorIs(t, err, Damaged)
	require.Contains(t, err.Error(), filepath.Base(path))
}

// stuck is a disk whose syncs hang, and that tells when the first one does.
type stuck struct{ entered, release chan struct{} }

func newStuck() stuck { return stuck{make(chan struct{}, 1), make(chan struct{})} }

func (s stuck) MaybeError(op errorfs.Op) error {
	if op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSync {
		select {
		case s.entered <- struct{}{}:
		default:
		}
		<-s.release
	}
	return nil
}

func (stuck) String() string { return "stuck" }

func TestACommitIsFinishedThoughItsContextEnds(t *testing.T) {
	hold := newStuck()
	toggle := &errorfs.Toggle{Injector: hold}
	clk := clock.NewVirtual(time.Unix(0, 0))
	s := open(t, errorfs.Wrap(vfs.NewMem(), toggle), Options{Clock: clk, Grace: time.Second})
	begin := func() (chan error, context.CancelFunc) {
		ctx, cancel := context.WithCancel(bg)
		done := make(chan error, 1)
		go func() {
			var d Delta
			d.Put([]byte("a"), []byte("b"))
			_, err := s.Commit(ctx, &d)
			done <- err
		}()
		return done, cancel
	}
	graceBegins := func() bool { return clk.Pending() == 1 }

	toggle.On()
	done, cancel := begin()
	<-hold.entered
	cancel()
	require.Eventually(t, graceBegins, 10*time.Second, time.Millisecond)
	toggle.Off()
	close(hold.release)
	require.NoError(t, <-done)
	v, err := s.Meta([]byte("a"))
	require.NoError(t, err)
	require.Equal(t, "b", string(v))

	hold = newStuck()
	toggle.Injector = hold
	toggle.On()
	done, cancel = begin()
	<-hold.entered
	cancel()
	require.Eventually(t, graceBegins, 10*time.Second, time.Millisecond)
	clk.Advance(time.Second)
	err = <-done
	require.ErrorIs(t, err, Broken)
	require.ErrorContains(t, err, "was given up on after 1s")
	require.ErrorIs(t, s.Err(), Broken)
	toggle.Off()
	close(hold.release)

	done, cancel = begin()
	cancel()
	require.Error(t, <-done)
}
