package file

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"pgregory.net/rapid"
)

// fixture is a folder with an output file.
type fixture struct {
	t       require.TestingT
	path    string
	store   string
	options map[string]any
	sink    wire.Sink
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, path: filepath.Join(t.TempDir(), "out.jsonl"), store: "one", options: map[string]any{}}
	t.Cleanup(f.close)
	return f
}

func (f *fixture) close() {
	if f.sink != nil {
		_ = f.sink.Close()
		f.sink = nil
	}
}

func (f *fixture) tryOpen() error {
	f.close()
	f.options["path"] = f.path
	options, err := json.Marshal(f.options)
	require.NoError(f.t, err)
	f.sink, err = Plugin().OpenSink(wire.SinkOpen{Options: options, Place: wire.Place{Pipeline: "p", Component: "out", Store: f.store}}, wire.Runtime{})
	return err
}

// open opens the sink as after a start or a crash, and returns the number of the last row.
func (f *fixture) open() uint64 {
	require.NoError(f.t, f.tryOpen())
	n, known, err := f.sink.LastDelivered(context.Background())
	require.NoError(f.t, err)
	require.True(f.t, known)
	return n
}

// rows are numbered rows "r1" to "r5", as a batch.
func rows(first, last uint64) *batch.Batch {
	b := &batch.Batch{Trailer: 1, Offsets: []uint32{0}}
	for n := first; n <= last; n++ {
		b.Data = fmt.Appendf(b.Data, "r%d\n", n)
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
		b.N++
	}
	return b
}

func (f *fixture) write(first, last uint64) {
	require.NoError(f.t, f.sink.Write(context.Background(), first, rows(first, last)))
}

func (f *fixture) content() string { return read(f.t, f.path) }

func read(t require.TestingT, path string) string {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func put(t require.TestingT, path, text string) {
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestRowsStandInTheFileOnce(t *testing.T) {
	f := newFixture(t)
	require.Equal(t, uint64(0), f.open())
	f.write(1, 2)
	f.write(2, 3) // row 2 comes again
	f.write(1, 3) // and all of them
	require.Equal(t, "r1\nr2\nr3\n", f.content())
	require.Equal(t, uint64(3), f.open(), "after a restart")
	f.write(4, 4)
	require.Equal(t, "r1\nr2\nr3\nr4\n", f.content())
}

func TestATailThatWasNotAcknowledgedIsCut(t *testing.T) {
	f := newFixture(t)
	f.open()
	f.write(1, 2)
	f.close()
	put(t, f.path, "r1\nr2\nr3\nr") // the crash came before the books
	require.Equal(t, uint64(2), f.open())
	require.Equal(t, "r1\nr2\n", f.content())
}

func TestABookTornInTheMiddleLeavesTheOtherSlot(t *testing.T) {
	f := newFixture(t)
	f.open()
	f.write(1, 1)
	f.write(2, 2)
	f.close()
	book := []byte(read(t, bookPath(f.path)))
	e0, ok0 := readSlot(book[:slotSize])
	e1, ok1 := readSlot(book[slotSize:])
	require.True(t, ok0 && ok1)
	newest := 0
	if e1.Version > e0.Version {
		newest = slotSize
	}
	for i := newest + 40; i < newest+60; i++ {
		book[i] = 0
	}
	put(t, bookPath(f.path), string(book))
	require.Equal(t, uint64(1), f.open())
	require.Equal(t, "r1\n", f.content(), "its row comes again")
	f.close()

	put(t, bookPath(f.path), strings.Repeat("?", 2*slotSize))
	require.ErrorContains(t, f.tryOpen(), "is damaged")
}

// The books cannot be written, or nobody knows whether they were: the rows may neither come twice nor be lost, by a crash now or later.
func TestBooksThatCannotBeWritten(t *testing.T) {
	for _, reached := range []bool{false, true} {
		for _, crash := range []bool{false, true} {
			options, err := json.Marshal(map[string]any{"path": filepath.Join(t.TempDir(), "out.jsonl")})
			require.NoError(t, err)
			var inner *sink
			plugin := sdk.NewSink("file", "", sdk.SinkTraits{Delivery: sdk.Transactional, Text: true}, func(_ context.Context, c Config) (sdk.Sink, error) {
				inner, err = open(c, time.Now)
				return inner, err
			})
			begin := func() wire.Sink {
				w, err := plugin.OpenSink(wire.SinkOpen{Options: options, Place: wire.Place{Pipeline: "p", Component: "out", Store: "one"}}, wire.Runtime{})
				require.NoError(t, err)
				return w
			}
			w := begin()
			require.NoError(t, w.Write(context.Background(), 1, rows(1, 2)))
			if reached { // the entry is there, and the sync behind it has failed
				next := inner.at
				next.Number, next.Length = 3, next.Length+3
				require.NoError(t, inner.book.write(next))
				inner.book.last.Version--
			}
			require.NoError(t, inner.book.f.Close())
			require.Error(t, w.Write(context.Background(), 3, rows(3, 3)))
			if crash {
				_ = w.Close()
				w = begin()
			}
			require.NoError(t, w.Write(context.Background(), 3, rows(3, 3)))
			require.NoError(t, w.Write(context.Background(), 4, rows(4, 4)))
			require.Equal(t, "r1\nr2\nr3\nr4\n", read(t, inner.Path), "the entry is there: %t, a crash: %t", reached, crash)
			require.EqualValues(t, 4, inner.at.Number)
			require.NoError(t, w.Close())
		}
	}
}

func TestAnotherStoreBeginsAnew(t *testing.T) {
	f := newFixture(t)
	f.open()
	f.write(1, 2)
	f.store = "two"
	require.Equal(t, uint64(0), f.open())
	f.write(1, 1)
	require.Equal(t, "r1\nr2\nr1\n", f.content())

	f.close()
	put(t, f.path, "r1\nr2\nr1\nhal") // killed while it wrote
	f.store = "three"
	f.open()
	f.write(1, 1)
	require.Equal(t, "r1\nr2\nr1\nr1\n", f.content())

	f.options["mode"] = "overwrite"
	require.Equal(t, uint64(1), f.open(), "the same store goes on")
	f.store = "four"
	require.Equal(t, uint64(0), f.open())
	f.write(1, 1)
	require.Equal(t, "r1\n", f.content())
}

func TestSomebodyElsesUnfinishedLineGetsItsEnd(t *testing.T) {
	f := newFixture(t)
	put(t, f.path, "theirs\nno line end")
	f.open()
	f.write(1, 1)
	require.Equal(t, "theirs\nno line end\nr1\n", f.content())
	require.Equal(t, uint64(1), f.open())
}

func TestRotationBySize(t *testing.T) {
	f := newFixture(t)
	f.options["rotate_size"], f.options["header"] = "8", "h"
	put(t, strings.TrimSuffix(f.path, ".jsonl")+".2.jsonl", "somebody's")
	f.open()
	for n := uint64(1); n <= 6; n++ {
		f.write(n, n)
	}
	base := strings.TrimSuffix(f.path, ".jsonl")
	require.Equal(t, "h\nr1\nr2\n", read(t, base+".1.jsonl"))
	require.Equal(t, "somebody's", read(t, base+".2.jsonl"))
	require.Equal(t, "h\nr3\nr4\n", read(t, base+".3.jsonl"))
	require.Equal(t, "h\nr5\nr6\n", f.content())
	require.Equal(t, uint64(6), f.open())
}

func TestACrashBetweenRenamingAndTheBooks(t *testing.T) {
	f := newFixture(t)
	f.options["rotate_size"] = "6"
	f.open()
	f.write(1, 2)
	f.close()
	base := strings.TrimSuffix(f.path, ".jsonl")
	require.NoError(t, os.Rename(f.path, base+".1.jsonl"))
	require.Equal(t, uint64(2), f.open())
	f.write(3, 4)
	f.write(5, 5)
	require.Equal(t, "r1\nr2\n", read(t, base+".1.jsonl"))
	require.Equal(t, "r3\nr4\n", read(t, base+".2.jsonl"))
	require.Equal(t, "r5\n", f.content())
}

func TestRotationByAge(t *testing.T) {
	now := time.UnixMilli(0)
	path := filepath.Join(t.TempDir(), "out")
	s, err := open(Config{Path: path, RotateEvery: time.Hour, Mode: "append"}, func() time.Time { return now })
	require.NoError(t, err)
	defer s.Close()
	write := func(n uint64) {
		require.NoError(t, s.Write(context.Background(), sdk.Rows{First: n, Batch: rows(n, n)}))
	}
	write(1)
	now = now.Add(59 * time.Minute)
	write(2)
	now = now.Add(time.Minute)
	write(3)
	require.Equal(t, "r1\nr2\n", read(t, path+".1"))
	require.Equal(t, "r3\n", read(t, path))
}

func TestAFileThatIsMovedAwayOrCut(t *testing.T) {
	f := newFixture(t)
	f.open()
	f.write(1, 1)
	require.NoError(t, os.Rename(f.path, f.path+".old"))
	f.write(2, 2)
	require.Equal(t, "r1\n", read(t, f.path+".old"))
	require.Equal(t, "r2\n", f.content())
	require.NoError(t, os.Truncate(f.path, 0))
	f.write(3, 3)
	require.Equal(t, "r3\n", f.content())
	require.Equal(t, uint64(3), f.open())
	f.close()
	require.NoError(t, os.Remove(f.path))
	require.Equal(t, uint64(3), f.open(), "what was delivered is not delivered again")
}

func TestTwoSinksOnOneFile(t *testing.T) {
	f := newFixture(t)
	f.open()
	g := &fixture{t: t, path: f.path, store: "two", options: map[string]any{}}
	require.ErrorContains(t, g.tryOpen(), "is being written by another pipeline")
}

func TestWhatCannotBeOpened(t *testing.T) {
	f := newFixture(t)
	dir := filepath.Dir(f.path)
	f.path = filepath.Join(dir, "nowhere", "out")
	require.ErrorContains(t, f.tryOpen(), "there is no folder")
	f.path = dir
	require.ErrorContains(t, f.tryOpen(), "is a folder")
	f.path = "/dev/null"
	require.NoError(t, f.tryOpen())
	f.write(1, 3)
}

// A crash at any moment, seen as: the file has any length from the last acknowledged one on, and the books are as of any write since then.
func TestCrashesNeverShow(t *testing.T) {
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		f := &fixture{t: t, path: filepath.Join(dir, fmt.Sprint(run)), store: "one", options: map[string]any{"sync": false}}
		defer f.close()
		next := f.open() + 1
		want := ""
		for range rapid.IntRange(1, 8).Draw(t, "writes") {
			last := next + rapid.Uint64Range(0, 3).Draw(t, "rows")
			before := read(t, bookPath(f.path))
			f.write(next, last)
			for n := next; n <= last; n++ {
				want += fmt.Sprintf("r%d\n", n)
			}
			if rapid.Bool().Draw(t, "crash") {
				f.close()
				if rapid.Bool().Draw(t, "before the books") {
					put(t, bookPath(f.path), before)
					all := read(t, f.path)
					put(t, f.path, all[:len(all)-rapid.IntRange(0, int(last-next+1)*2).Draw(t, "torn")])
				}
				next = f.open() + 1
				if next <= last { // the daemon delivers again what was not acknowledged
					f.write(next, last)
				}
			}
			next = last + 1
			require.Equal(t, want, f.content())
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, sync := range []bool{true, false} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			s, err := open(Config{Path: filepath.Join(b.TempDir(), "out"), Mode: "append", Sync: sync}, time.Now)
			require.NoError(b, err)
			defer s.Close()
			batch := rows(1, 1000)
			b.SetBytes(int64(len(batch.Data)))
			for i := range b.N {
				if err := s.Write(context.Background(), sdk.Rows{First: uint64(i)*1000 + 1, Batch: batch}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
