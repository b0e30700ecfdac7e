package state

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// young makes a state whose commits all lie in the live log, or in the manifest, and returns its directory, its files and what it holds.
func young(t *testing.T, opts Options) (dir string, whole map[string][]byte, holds []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	s, err := Open(dir, opts)
	require.NoError(t, err)
	for i := range 5 {
		var d Delta
		d.Put([]byte("position"), []byte{byte('a' + i)})
		d.Set(1, 0, uint64(i), []byte("k"), []byte("v"))
		commit(t, s, &d)
	}
	holds = dump(t, s, 1)
	require.NoError(t, s.Close())
	return dir, contents(t, dir), holds
}

func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[path], err = os.ReadFile(path)
		}
		return err
	}))
	return out
}

func putBack(t *testing.T, dir string, whole map[string][]byte) {
	t.Helper()
	require.NoError(t, os.RemoveAll(dir))
	for path, content := range whole {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
}

// reads opens a state: what it holds is there, or it is refused. It never begins anew, and never lacks a commit.
func reads(t *testing.T, dir string, holds []string, what string) (refused error) {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		require.ErrorIs(t, err, Damaged, what)
		return err
	}
	require.Equal(t, holds, dump(t, s, 1), what)
	require.NoError(t, s.Close())
	return nil
}

// All of a young state lies in the last block of the log, whose damage the database takes for a write that a crash has cut short.
func TestDamageAtTheEndOfTheLogIsRefused(t *testing.T) {
	dir, whole, holds := young(t, Options{TableEntries: 1 << 30})
	logs := files(t, dir, "db/*.log")
	path := logs[len(logs)-1]
	last := bytes.LastIndex(whole[path], []byte("position"))
	require.Positive(t, last)
	refused := 0
	for at := 0; at < len(whole[path]); at += 7 {
		putBack(t, dir, whole)
		damaged := bytes.Clone(whole[path])
		damaged[at] ^= 0x40
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		what := fmt.Sprintf("byte %d of %s", at, filepath.Base(path))
		if err := reads(t, dir, holds, what); err != nil {
			refused++
			require.Contains(t, err.Error(), filepath.Base(path), what)
			require.Error(t, reads(t, dir, holds, what), "the second time, too")
			// Nothing was changed meanwhile: the file as it was mends it.
			require.NoError(t, os.WriteFile(path, whole[path], 0o600))
			require.NoError(t, reads(t, dir, holds, what))
		}
	}
	require.Greater(t, refused, last/7/2)
	for at := 0; at < last; at += 11 {
		putBack(t, dir, whole)
		require.NoError(t, os.Truncate(path, int64(at)))
		require.Error(t, reads(t, dir, holds, "cut"), "cut at byte %d", at)
	}
}

// The manifest names the tables of large commits, and ends like a log.
func TestDamageAtTheEndOfTheManifestIsRefused(t *testing.T) {
	dir, whole, holds := young(t, Options{TableEntries: 1})
	manifests := files(t, dir, "db/MANIFEST-*")
	path := manifests[len(manifests)-1]
	refused := 0
	for at := 0; at < len(whole[path]); at += 5 {
		putBack(t, dir, whole)
		damaged := bytes.Clone(whole[path])
		damaged[at] ^= 0x40
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		if reads(t, dir, holds, fmt.Sprintf("byte %d of %s", at, filepath.Base(path))) != nil {
			refused++
		}
	}
	require.Positive(t, refused)
}

// A damaged count keeps nobody from a state that is whole, and without it what is left can be read.
func TestTheNumberOfCommitsIsASecondOpinion(t *testing.T) {
	dir, whole, holds := young(t, Options{})
	path := filepath.Join(dir, markName)
	for _, content := range []string{"", "batches 00000000000000000009 tables 00000000000000000000 crc32c 00000000\n", "rubbish"} {
		putBack(t, dir, whole)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		require.NoError(t, reads(t, dir, holds, content))
	}
	putBack(t, dir, whole)
	logs := files(t, dir, "db/*.log")
	require.NoError(t, os.Truncate(logs[len(logs)-1], 0))
	err := reads(t, dir, holds, "without a log")
	require.ErrorContains(t, err, "of 5 commits")
	require.ErrorContains(t, err, markName)
	require.NoError(t, os.Remove(path))
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	require.Empty(t, dump(t, s, 1))
	require.NoError(t, s.Close())
}
