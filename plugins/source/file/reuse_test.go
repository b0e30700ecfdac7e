//go:build unix

package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/source/sourcetest"
)

func inodeOf(t *testing.T, path string) id {
	info, err := os.Stat(path)
	require.NoError(t, err)
	return idOf(info)
}

// putAs writes a file that the system calls by the name of one that is gone. Where a file system gives no inode again the test has nothing to
// look at.
func putAs(t *testing.T, path, text string, inode id) {
	for n := range 500 {
		aside := filepath.Join(filepath.Dir(path), fmt.Sprintf("aside.%d.tmp", n)) // all are kept, so that others come in turn
		put(t, aside, text)
		if inodeOf(t, aside) == inode {
			require.NoError(t, os.Rename(aside, path))
			return
		}
	}
	t.Skip("this file system gives no inode again")
}

// others are contents that follow on those that were read, numbered("a", 1, 1000), under the same inode.
func others() map[string]string {
	old := numbered("a", 1, 1000)
	return map[string]string{
		"shorter":                  numbered("b", 1, 3),
		"longer":                   numbered("b", 1, 1500),
		"as long":                  strings.ReplaceAll(old, "a", "b"),
		"longer, with one head":    numbered("a", 1, 500) + numbered("b", 1, 1500),
		"shorter, with one head":   numbered("a", 1, 500) + "b\n",
		"as long, but for an end":  old[:len(old)-5] + "bbbb\n",
		"longer, but for a middle": strings.Replace(old, "a997\n", "b997\n", 1) + numbered("c", 1, 9),
	}
}

// An inode is used again when its file is gone: what it holds then is another file, which is read from its beginning.
func TestAnInodeThatIsUsedAgainWhileRunning(t *testing.T) {
	for name, text := range others() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "app.log")
			put(t, path, numbered("a", 1, 1000))
			inode := inodeOf(t, path)
			r := following(t, paths(path))
			r.UntilRows(1000)
			require.NoError(t, os.Remove(path))
			r.Until("the end of the old file", func(r *sourcetest.Run) bool { return r.Of(path).Ended })
			putAs(t, path, text, inode)
			r.UntilRows(1000 + len(split(text)))
			require.Equal(t, split(text), r.Of(path+";2").Rows)
			require.Empty(t, r.Rejects())
			r.Stop()
		})
	}
}

func TestAnInodeThatIsUsedAgainWhileStopped(t *testing.T) {
	for name, text := range others() {
		for _, follow := range []bool{true, false} {
			for _, other := range []bool{false, true} { // under another name, too
				t.Run(fmt.Sprintf("%s/follow=%t/other=%t", name, follow, other), func(t *testing.T) {
					dir := t.TempDir()
					path := filepath.Join(dir, "app.log")
					put(t, path, numbered("a", 1, 1000))
					inode := inodeOf(t, path)
					r := following(t, paths(filepath.Join(dir, "*.log")))
					r.UntilRows(1000)
					r.Stop()
					require.NoError(t, os.Remove(path))
					partition := path + ";2"
					if other {
						path = filepath.Join(dir, "other.log")
						partition = path
					}
					putAs(t, path, text, inode)
					o := paths(filepath.Join(dir, "*.log"))
					if !follow {
						require.Equal(t, split(text), read(t, o, r.Restore()...).Of(partition).Rows)
						return
					}
					again := following(t, o, r.Restore()...)
					again.UntilRows(len(split(text)))
					require.Equal(t, split(text), again.Of(partition).Rows)
					again.Stop()
				})
			}
		}
	}
}

// The same contents under the same inode, grown: nobody can tell that from a file that has grown, and so it is one.
func TestWhatBeginsLikeTheOldFileIsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.log")
	put(t, path, numbered("a", 1, 1000))
	inode := inodeOf(t, path)
	r := following(t, paths(path))
	r.UntilRows(1000)
	r.Stop()
	require.NoError(t, os.Remove(path))
	putAs(t, path, numbered("a", 1, 1002), inode)
	again := read(t, paths(path), r.Restore()...)
	require.Equal(t, []string{"a1001", "a1002"}, again.Rows())
}
