package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/source/sourcetest"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// following starts a source that follows; it waits for no timer longer than a test can bear.
func following(t *testing.T, o sourcetest.Options, restored ...wire.RestoredPartition) *sourcetest.Run {
	o["follow"] = true
	if o["poll"] == nil {
		o["poll"] = "20ms"
	}
	if o["rotate_wait"] == nil {
		o["rotate_wait"] = "50ms"
	}
	return sourcetest.Start(t, Plugin(), o, restored...)
}

func TestFollowGrowth(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a.log")
	r := following(t, paths(filepath.Join(dir, "*.log")))
	grow(t, a, "a1\na2\nha")
	r.UntilRows(2)
	grow(t, a, "lf\n")
	r.UntilRows(3)
	put(t, filepath.Join(dir, "b.log"), "b1\n")
	r.UntilRows(4)
	require.Equal(t, []string{"a1", "a2", "half", "b1"}, r.Rows())
	r.Stop()

	grow(t, a, "a4\n")
	again := following(t, paths(filepath.Join(dir, "*.log")), r.Restore()...)
	again.UntilRows(1)
	grow(t, a, "a5\n")
	again.UntilRows(2)
	require.Equal(t, []string{"a4", "a5"}, again.Rows())
}

func TestRotationByRename(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "app.log")
	for _, pattern := range []string{"app.log", "app.log*"} {
		t.Run(pattern, func(t *testing.T) {
			put(t, log, numbered("a", 1, 3))
			r := following(t, paths(filepath.Join(dir, pattern)))
			r.UntilRows(3)
			require.NoError(t, os.Rename(log, log+".1"))
			grow(t, log+".1", "a4\n") // the writer has it open for a while
			r.UntilRows(4)
			put(t, log, numbered("b", 1, 2))
			r.UntilRows(6)
			r.Until("the end of the old one", func(r *sourcetest.Run) bool { return r.Of(log).Ended })
			require.Equal(t, split(numbered("a", 1, 4)+numbered("b", 1, 2)), r.Rows())
			require.Equal(t, []string{log, log + ";2"}, r.Names())
			r.Stop()

			// Rotated once more while nobody looked.
			require.NoError(t, os.Rename(log+".1", log+".2"))
			require.NoError(t, os.Rename(log, log+".1"))
			grow(t, log+".1", "b3\n")
			put(t, log, "c1\n")
			again := following(t, paths(filepath.Join(dir, pattern)), r.Restore()...)
			want := []string{"b3", "c1"}
			if pattern == "app.log" {
				want = want[1:] // the renamed file is not asked for
			}
			again.UntilRows(len(want))
			again.Stop()
			require.ElementsMatch(t, want, again.Rows())
			for _, name := range []string{log, log + ".1", log + ".2"} {
				require.NoError(t, os.RemoveAll(name))
			}
		})
	}
}

// copyTruncate rotates as logrotate does with that setting.
func copyTruncate(t *testing.T, path, to string) {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	put(t, to, string(b))
	require.NoError(t, os.Truncate(path, 0))
}

func TestRotationByCopyAndTruncate(t *testing.T) {
	for _, pattern := range []string{"app.log", "app.log*"} {
		t.Run(pattern, func(t *testing.T) {
			dir := t.TempDir()
			log := filepath.Join(dir, "app.log")
			r := following(t, paths(filepath.Join(dir, pattern)))
			var want []string
			for part := 1; part <= 4; part++ {
				text := numbered(fmt.Sprintf("part %d line ", part), 1, 200)
				want = append(want, split(text)...)
				for _, line := range strings.SplitAfter(text, "\n") {
					grow(t, log, line)
				}
				r.UntilRows(len(want))
				copyTruncate(t, log, fmt.Sprintf("%s.%d", log, part))
				r.Until("the truncation", func(r *sourcetest.Run) bool {
					return r.Of(generationName(log, part)).Ended
				})
			}
			grow(t, log, "last\n")
			r.UntilRows(len(want) + 1)
			require.Equal(t, append(want, "last"), r.Rows())
			require.Empty(t, r.Rejects())
			r.Stop()

			again := following(t, paths(filepath.Join(dir, pattern)), r.Restore()...)
			grow(t, log, "more\n")
			again.UntilRows(1)
			again.Stop()
			require.Equal(t, []string{"more"}, again.Rows(), "no copy is read again")
		})
	}
}

func generationName(path string, n int) string {
	if n == 1 {
		return path
	}
	return fmt.Sprintf("%s;%d", path, n)
}

// What was appended between the last look and the rotation is in the copy.
func TestTheRestIsReadFromTheCopy(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "app.log")
	put(t, log, numbered("a", 1, 3)+"unfin")
	r := following(t, paths(filepath.Join(dir, "app.log*")))
	r.UntilRows(3)
	r.Stop()
	grow(t, log, "ished\na5\n")
	copyTruncate(t, log, log+".1")
	grow(t, log, numbered("b", 1, 50)) // longer than the old offset
	again := following(t, paths(filepath.Join(dir, "app.log*")), r.Restore()...)
	again.UntilRows(52)
	again.Stop()
	require.ElementsMatch(t, split("unfinished\na5\n"+numbered("b", 1, 50)), again.Rows())
	require.Equal(t, []string{"unfinished", "a5"}, again.Of(log).Rows)
}

// A generation that has grown beyond the old offset before anybody looks is noticed by its content.
func TestTruncatedAndRegrownBetweenTwoLooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.log")
	put(t, path, numbered("a", 1, 10))
	r := following(t, paths(path))
	r.UntilRows(10)
	// One write call replaces the contents: the source sees a longer file.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(numbered("b", 1, 100))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	r.UntilRows(110)
	require.Equal(t, split(numbered("a", 1, 10)+numbered("b", 1, 100)), r.Rows())
}

func TestAnUnfinishedLineIsNotGluedToTheNextGeneration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.log")
	put(t, path, "a1\nunfin")
	r := following(t, paths(path))
	r.UntilRows(1)
	require.NoError(t, os.Truncate(path, 0))
	r.Until("the truncation", func(r *sourcetest.Run) bool { return r.Of(path).Ended })
	grow(t, path, "b1\n")
	r.UntilRows(2)
	require.Equal(t, []string{"a1", "b1"}, r.Rows())
	require.Equal(t, []string{"partial 5"}, r.Rejects())
}

func TestADeletedFileIsReadToItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.log")
	put(t, path, "a1\nlast")
	r := following(t, paths(path))
	r.UntilRows(1)
	require.NoError(t, os.Remove(path))
	r.UntilRows(2)
	r.Until("the end", func(r *sourcetest.Run) bool { return r.Of(path).Ended })
	require.Equal(t, []string{"a1", "last"}, r.Rows())
	put(t, path, "b1\n")
	r.UntilRows(3)
	require.Equal(t, []string{"b1"}, r.Of(path+";2").Rows)
}

func TestFromTheEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "app.log")
	put(t, path, "old\nunfin")
	o := paths(filepath.Join(dir, "*"))
	o["from"] = "end"
	r := following(t, o)
	r.Until("the first look", func(r *sourcetest.Run) bool { return strings.Contains(r.Log(), "following: path="+path) })
	put(t, filepath.Join(dir, "new"), "n1\n") // appears later, so it is read from its beginning
	grow(t, path, "ished\nnew\n")
	r.UntilRows(3)
	require.ElementsMatch(t, []string{"unfinished", "new", "n1"}, r.Rows())
}

func TestACompressedRotationIsNotReadAgain(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "app.log")
	text := numbered("a line that is there once ", 1, 200)
	put(t, log, text)
	r := following(t, paths(filepath.Join(dir, "app.log*")))
	r.UntilRows(200)
	require.NoError(t, os.Rename(log, log+".1"))
	packed(t, log+".1.gz", text)
	require.NoError(t, os.Remove(log+".1"))
	packed(t, log+".0.gz", "something else\n")
	r.UntilRows(201)
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(log+".1.gz", old, old))
	put(t, log, "b1\n")
	r.UntilRows(202)
	require.Equal(t, append(split(text), "something else", "b1"), r.Rows())
}

func TestMissingFilesAreWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not", "yet", "app.log")
	r := following(t, paths(path))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	put(t, path, "a\n")
	r.UntilRows(1)
	require.Equal(t, []string{"a"}, r.Rows())
}
