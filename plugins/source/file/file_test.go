package file

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/source/sourcetest"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func put(t *testing.T, path, text string) {
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func grow(t *testing.T, path, text string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// numbered are lines "p1" to "p5".
func numbered(prefix string, first, last int) string {
	var b strings.Builder
	for n := first; n <= last; n++ {
		fmt.Fprintf(&b, "%s%d\n", prefix, n)
	}
	return b.String()
}

func split(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

func read(t *testing.T, o sourcetest.Options, restored ...wire.RestoredPartition) *sourcetest.Run {
	r := sourcetest.Start(t, Plugin(), o, restored...)
	require.NoError(t, r.Wait(), r.Log())
	require.True(t, r.Ended())
	return r
}

func paths(p ...string) sourcetest.Options { return sourcetest.Options{"path": p} }

func TestReadOnceAndOnlyOnce(t *testing.T) {
	dir := t.TempDir()
	a, b, empty := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log"), filepath.Join(dir, "c.log")
	put(t, a, "\xef\xbb\xbfa1\na2")
	put(t, b, "b1\r\nb2\n")
	put(t, empty, "")
	o := paths(filepath.Join(dir, "*.log"))
	r := read(t, o)
	require.Equal(t, []string{"a1", "a2"}, r.Of(a).Rows)
	require.Equal(t, []int64{3, 6}, r.Of(a).At, "offsets count the byte order mark")
	require.Equal(t, []string{"b1\r", "b2"}, r.Of(b).Rows)
	require.Equal(t, []string{a, b, empty}, r.Names(), "all are there from the start")
	for _, name := range r.Names() {
		require.True(t, r.Of(name).Ended)
	}

	again := read(t, o, r.Restore()...)
	require.Empty(t, again.Rows())

	grow(t, b, "b3\n")
	more := read(t, o, r.Restore()...)
	require.Equal(t, []string{"b3"}, more.Rows())
}

func TestAReadIsTakenUpAnywhere(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	put(t, a, numbered("some words of file a, number ", 1, 20_000))
	put(t, b, numbered("b ", 1, 30_000))
	packed(t, c, numbered("packed ", 1, 40_000))
	o := paths(a, b, c)
	whole := read(t, o)
	rows := whole.Rows()
	require.Len(t, rows, 90_000)
	require.Equal(t, rows, read(t, o).Rows(), "the order depends on the files alone")

	// A checkpoint after the n-th batch of each file, at a place where they all had n.
	for n := range 4 {
		var restored []wire.RestoredPartition
		left := 0
		for _, name := range whole.Names() {
			p := whole.Of(name)
			at, err := decodePosition([]byte(p.Positions[n]))
			require.NoError(t, err)
			restored = append(restored, wire.RestoredPartition{Name: name, Position: []byte(p.Positions[n])})
			for _, offset := range p.At {
				if offset >= at.Offset {
					left++
				}
			}
		}
		rest := read(t, o, restored...)
		require.Len(t, rest.Rows(), left)
		for _, name := range whole.Names() {
			all, tail := whole.Of(name).Rows, rest.Of(name).Rows
			require.Equal(t, all[len(all)-len(tail):], tail, name)
		}
	}
}

func TestInOrder(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{10, 2, 1} {
		put(t, filepath.Join(dir, fmt.Sprintf("log.%d", n)), numbered(fmt.Sprintf("%d-", n), 1, 2))
	}
	o := paths(filepath.Join(dir, "log.*"))
	o["read"] = "in_order"
	require.Equal(t, []string{"1-1", "1-2", "2-1", "2-2", "10-1", "10-2"}, read(t, o).Rows())
}

func TestNamesOnce(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "sub", "deep", "a.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(a), 0o755))
	put(t, a, "a\n")
	put(t, filepath.Join(dir, "a.json.bak"), "no\n")
	require.NoError(t, os.Symlink(a, filepath.Join(dir, "latest.json")))
	o := paths(filepath.Join(dir, "**", "*"), a)
	o["exclude"] = []string{"*.bak"}
	require.Equal(t, []string{"a"}, read(t, o).Rows())
}

func packed(t *testing.T, path string, members ...string) {
	var out bytes.Buffer
	for _, m := range members {
		z := gzip.NewWriter(&out)
		_, err := z.Write([]byte(m))
		require.NoError(t, err)
		require.NoError(t, z.Close())
	}
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
}

func TestCompressedFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.gz"), filepath.Join(dir, "b.anything")
	packed(t, a, "a1\na", "2\n", "", "a3")
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(b, z.EncodeAll([]byte("b1\nb2\n"), nil), 0o644))
	require.NoError(t, z.Close())
	r := read(t, paths(a, b))
	require.Equal(t, []string{"a1", "a2", "a3"}, r.Of(a).Rows)
	require.Equal(t, []string{"b1", "b2"}, r.Of(b).Rows)
	require.Empty(t, read(t, paths(a, b), r.Restore()...).Rows())
}

// Zeros behind the last member are what gzip itself takes for nothing; anything else there is damage.
func TestGzipBeforeZeros(t *testing.T) {
	dir := t.TempDir()
	padded, dirty := filepath.Join(dir, "padded.gz"), filepath.Join(dir, "dirty.gz")
	packed(t, padded, "a1\n", "a2\n")
	b, err := os.ReadFile(padded)
	require.NoError(t, err)
	b = append(b, make([]byte, 10_000)...)
	require.NoError(t, os.WriteFile(padded, b, 0o644))
	require.NoError(t, os.WriteFile(dirty, append(b, '?'), 0o644))
	r := read(t, paths(padded, dirty))
	require.Equal(t, []string{"a1", "a2"}, r.Of(padded).Rows)
	require.Empty(t, r.Of(padded).Rejects)
	require.Equal(t, []string{"a1", "a2"}, r.Of(dirty).Rows)
	require.Equal(t, []string{"damaged 0"}, r.Of(dirty).Rejects)
}

func TestDamagedFilesGiveWhatCanBeRead(t *testing.T) {
	dir := t.TempDir()
	cut, garbage, fine := filepath.Join(dir, "cut.gz"), filepath.Join(dir, "garbage.gz"), filepath.Join(dir, "fine.log")
	text := numbered("line number ", 1, 50_000)
	packed(t, cut, text)
	b, err := os.ReadFile(cut)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cut, b[:len(b)/2], 0o644))
	put(t, garbage, "\x1f\x8bthis is no gzip")
	put(t, fine, "fine\n")
	o := paths(cut, garbage, fine)
	r := read(t, o)
	rows := r.Of(cut).Rows
	require.NotEmpty(t, rows)
	require.Less(t, len(rows), 50_000)
	require.Equal(t, split(text)[:len(rows)], rows, "whole lines, without a gap")
	require.Equal(t, "damaged 0", r.Of(cut).Rejects[0])
	require.Equal(t, []string{"damaged 0"}, r.Of(garbage).Rejects)
	require.Equal(t, []string{"fine"}, r.Of(fine).Rows)
	require.Equal(t, 2, strings.Count(r.Log(), "is damaged or cut short"), r.Log())
	again := read(t, o, r.Restore()...)
	require.Empty(t, again.Rows())
	require.Empty(t, again.Rejects())
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "nothing"), "there is no file " + filepath.Join(dir, "nothing")},
		{filepath.Join(dir, "*.log"), "no file matches " + filepath.Join(dir, "*.log")},
		{dir, "is a folder; write " + filepath.Join(dir, "*")},
		{"/dev/null", "is a pipe or a device"},
	} {
		r := sourcetest.Start(t, Plugin(), paths(c.path))
		require.ErrorContains(t, r.Wait(), c.want)
	}
}

func TestAFileThatWasReplacedIsAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	put(t, path, "old 1\nold 2\n")
	r := read(t, paths(path))
	put(t, path, "new 1\nnew 2\nnew 3\n")
	again := read(t, paths(path), r.Restore()...)
	require.Equal(t, []string{"new 1", "new 2", "new 3"}, again.Rows())
	require.Equal(t, []string{path + ";2"}, again.Names())
}

func TestAFileThatIsGoneHoldsNobodyBack(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put(t, a, "a\n")
	put(t, b, "b\n")
	r := read(t, paths(filepath.Join(dir, "*")))
	restored := r.Restore()
	restored[0].Ended = false
	require.NoError(t, os.Remove(a))
	again := read(t, paths(filepath.Join(dir, "*")), restored...)
	require.True(t, again.Of(a).Ended)
	require.Contains(t, again.Log(), "is gone that was not read to its end")
}

// A position is written without encoding/json, which must see the same in it.
func TestPositionsAreTheirJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := position{
			ID: id{rapid.Uint64().Draw(t, "device"), rapid.Uint64().Draw(t, "inode")}, Packed: rapid.Bool().Draw(t, "packed"),
			Head:  fingerprint{rapid.IntRange(0, headBytes).Draw(t, "head"), rapid.Uint64().Draw(t, "hash")},
			Guard: fingerprint{rapid.IntRange(0, headBytes).Draw(t, "guard"), rapid.Uint64().Draw(t, "hash")},
			Size:  rapid.Int64Range(0, 9).Draw(t, "size"),
		}
		p.Offset, p.LinesUntil = rapid.Int64Min(0).Draw(t, "offset"), rapid.Int64Range(0, 9).Draw(t, "lines")
		text := p.encode()
		var j positionJSON
		require.NoError(t, json.Unmarshal(text, &j))
		want, err := json.Marshal(j)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text))
		back, err := decodePosition(text)
		require.NoError(t, err)
		require.Equal(t, p, back)
	})
}

func TestPositionsAreReadBack(t *testing.T) {
	p := position{ID: id{1, 1 << 63}, Head: fingerprint{1024, 1<<64 - 1}, Guard: fingerprint{64, 7}, Packed: true, Size: 5}
	p.Offset, p.LinesUntil = 1<<40, 9
	back, err := decodePosition(p.encode())
	require.NoError(t, err)
	require.Equal(t, p, back)
	for _, bad := range []string{"", "x", `{"at":-1}`, `{"at":1,"id":"x"}`} {
		_, err := decodePosition([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestNaturalOrder(t *testing.T) {
	for _, c := range [][2]string{{"log.2", "log.10"}, {"a", "b"}, {"a", "a1"}, {"x9y", "x10"}, {"a01", "a1"}, {"log", "log.1"}} {
		require.Negative(t, compareNatural(c[0], c[1]), c)
		require.Positive(t, compareNatural(c[1], c[0]), c)
	}
	require.Zero(t, compareNatural("a1", "a1"))
}

func TestRotatedNames(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"d/app.log", "d/app.log.1", true}, {"d/app.log", "d/app.log-20260101.gz", true}, {"d/app.log", "d/app-20260101.log", true},
		{"d/app.log", "e/app.log.1", false}, {"d/app.log", "d/other.log", false}, {"d/a.log", "d/b.log", false},
	} {
		require.Equal(t, c.want, siblings(c.a, c.b), c)
		require.Equal(t, c.want, siblings(c.b, c.a), c)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for options, want := range map[string]string{
		`{}`:                                 "path",
		`{"path":[]}`:                        "no file is named",
		`{"path":["a["]}`:                    `"a[" is not a pattern`,
		`{"path":["a","b","./a"]}`:           `"./a" is named twice`,
		`{"path":["a"],"from":"middle"}`:     "middle",
		`{"path":["a"],"poll":"0s"}`:         "above 0",
		`{"path":["a"],"exclude":["[a"]}`:    "not a pattern",
		`{"path":["a"],"rotate_wait":"-1s"}`: "negative",
	} {
		require.ErrorContains(t, Plugin().CheckOptions([]byte(options)), want, options)
	}
}

func BenchmarkOnce(b *testing.B) {
	path := filepath.Join(b.TempDir(), "in")
	line := `{"key":"user-00005191","ts":1699999999894,"region":"eu-west-1","type":"login","value":88.04,"seq":10000000}` + "\n"
	const rows = 200_000
	require.NoError(b, os.WriteFile(path, []byte(strings.Repeat(line, rows)), 0o644))
	options := []byte(fmt.Sprintf(`{"path":[%q]}`, path))
	b.SetBytes(int64(len(line)))
	b.ResetTimer()
	for left := b.N; left > 0; left -= rows {
		src, err := Plugin().OpenSource(wire.SourceOpen{Options: options, Framing: wire.Framing{Format: "lines"}}, wire.Runtime{})
		require.NoError(b, err)
		for {
			e, err := src.Recv()
			if err != nil {
				break
			}
			if e.Batch != nil {
				e.Batch.Release()
			}
		}
		require.NoError(b, src.Close())
	}
}

// What is packed in a way that is not known here is no text: it is told as what it is, and others are read as ever.
func TestFilesOfOtherPackersAreTold(t *testing.T) {
	dir := t.TempDir()
	fine := filepath.Join(dir, "fine.log")
	put(t, fine, "fine\n")
	for name, first := range map[string]string{
		"xz": "\xfd7zXZ\x00\x00\x04\xe6\xd6", "bzip2": "BZh91AY&SY\xcd", "zip": "PK\x03\x04\x14\x00", "lz4": "\x04\x22\x4d\x18\x64", "Parquet": "PAR1\x15\x04",
	} {
		path := filepath.Join(dir, name)
		put(t, path, first+"\nrest\n")
		r := read(t, paths(fine, path))
		require.Equal(t, []string{"fine"}, r.Rows())
		require.Equal(t, []string{"damaged 0"}, r.Of(path).Rejects)
		require.Contains(t, r.Log(), "is a file of "+name+", which is not read (gzip and zstd are)")
		require.Empty(t, read(t, paths(fine, path), r.Restore()...).Rejects(), "it is told once")

		o := paths(path)
		o["compression"] = "none"
		require.Equal(t, []string{first, "rest"}, read(t, o).Rows())
	}
	for _, text := range []string{"BZh", "PK", "PAR1", "Object\n", "BZh91 is no packer\n"} {
		path := filepath.Join(dir, "text")
		put(t, path, text)
		require.Equal(t, split(text), read(t, paths(path)).Rows())
	}
}
