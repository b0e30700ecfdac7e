package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state"
)

// lines makes a batch of rows as a line source does.
func lines(partition uint32, rows ...string) *batch.Batch {
	b := batch.Get()
	b.Partition, b.Trailer = partition, 1
	b.Offsets = append(b.Offsets, 0)
	for _, r := range rows {
		b.Data = append(append(b.Data, r...), '\n')
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	}
	b.N = len(rows)
	return b
}

func open(t require.TestingT, fs vfs.FS, opts Options) *Journal {
	opts.FS = fs
	j, err := Open("journal", opts)
	require.NoError(t, err)
	return j
}

// texts is a journal's records from a number on, one string each.
func texts(t require.TestingT, j *Journal, from uint64) []string {
	out := []string{}
	require.NoError(t, j.Replay(from, func(r Record) error {
		out = append(out, text(r))
		return nil
	}))
	return out
}

func text(r Record) string {
	if r.Batch == nil {
		return fmt.Sprintf("%d %s", r.Number, r.Event)
	}
	defer r.Batch.Release()
	var rows [][]byte
	for i := range r.Batch.N {
		rows = append(rows, r.Batch.Row(i))
	}
	return fmt.Sprintf("%d p%d %s", r.Number, r.Batch.Partition, bytes.Join(rows, []byte(" ")))
}

func TestRecordsComeBackInOrder(t *testing.T) {
	disk := vfs.NewMem()
	j := open(t, disk, Options{})
	require.EqualValues(t, 1, j.Next())
	n, err := j.AppendEvent([]byte("partition 0 begins"))
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	n, err = j.Append(lines(0, "a 1", "", "b 2"))
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	want := []string{"1 partition 0 begins", "2 p0 a 1  b 2"}
	require.Equal(t, want, texts(t, j, 1))
	require.Equal(t, want[1:], texts(t, j, 2))
	require.Empty(t, texts(t, j, 3))
	require.NoError(t, j.Close())

	j = open(t, disk, Options{Committed: 3})
	require.Equal(t, want, texts(t, j, 1))
	_, err = j.Append(lines(1, "c"))
	require.NoError(t, err)
	require.Equal(t, append(want, "3 p1 c"), texts(t, j, 1))
	require.NoError(t, j.Close())
}

func TestEverythingASourceSaysIsKept(t *testing.T) {
	b := lines(7, "a", "bb")
	b.Base, b.Unit = 1<<40, batch.ByteOffset
	b.Position = []byte("offset 12")
	b.Times = []int64{batch.NoTimestamp, 1_700_000_000_000}
	b.Marks = []batch.Mark{{After: 1, Watermark: -5}, {After: 2, Watermark: batch.EndOfInput}}
	b.Rejects = []batch.Reject{{After: 2, Code: "too_long", Message: "3 bytes of 9", Data: []byte("abc"), Length: 9}, {After: 2, Code: "partial", HasPosition: true}}
	j := open(t, vfs.NewMem(), Options{})
	_, err := j.Append(b)
	require.NoError(t, err)
	require.NoError(t, j.Replay(1, func(r Record) error {
		g := r.Batch
		defer g.Release()
		require.Equal(t, []any{b.N, b.Partition, b.Trailer, b.Base, b.Unit}, []any{g.N, g.Partition, g.Trailer, g.Base, g.Unit})
		require.Equal(t, b.Data, g.Data)
		require.Equal(t, b.Offsets, g.Offsets)
		require.Equal(t, b.Position, g.Position)
		require.Equal(t, b.Times, g.Times)
		require.Equal(t, b.Marks, g.Marks)
		require.Equal(t, b.Rejects, g.Rejects)
		return nil
	}))
}

func TestTruncateKeepsWhatIsNeeded(t *testing.T) {
	disk := vfs.NewMem()
	j := open(t, disk, Options{SegmentSize: 200})
	for i := range 30 {
		_, err := j.Append(lines(0, fmt.Sprint("row ", i)))
		require.NoError(t, err)
	}
	before := j.Size()
	require.NoError(t, j.Truncate(20))
	require.Less(t, j.Size(), before)
	require.Len(t, texts(t, j, 20), 11)
	err := j.Replay(1, func(Record) error { return nil })
	require.ErrorIs(t, err, state.BadJournal)
	require.ErrorContains(t, err, "needed and gone")
	require.NoError(t, j.Truncate(1000)) // the active segment stays, and with it the numbers
	require.NoError(t, j.Close())
	j = open(t, disk, Options{})
	require.EqualValues(t, 31, j.Next())
	require.NoError(t, j.Close())
}

func TestAVisitorEndsAReplay(t *testing.T) {
	j := open(t, vfs.NewMem(), Options{})
	for range 3 {
		_, err := j.AppendEvent([]byte("x"))
		require.NoError(t, err)
	}
	enough := errors.New("enough")
	n := 0
	require.Equal(t, enough, j.Replay(1, func(Record) error { n++; return enough }))
	require.Equal(t, 1, n)
}

func TestAStateThatIsAheadOfItsJournal(t *testing.T) {
	disk := vfs.NewMem()
	for _, mode := range []Sync{SyncCommit, SyncAlways} {
		_, err := Open("journal", Options{FS: disk, Sync: mode, Committed: 50})
		require.ErrorIs(t, err, state.BadJournal)
	}
	j := open(t, disk, Options{})
	_, err := j.AppendEvent([]byte("kept"))
	require.NoError(t, err)
	require.NoError(t, j.Close())

	// Without syncing that is what may happen, twice in a row too.
	for range 2 {
		j = open(t, disk, Options{Sync: SyncNone, Committed: 50})
		require.EqualValues(t, 50, j.Next())
		require.NoError(t, j.Close())
	}
	j = open(t, disk, Options{Sync: SyncNone, Committed: 50})
	n, err := j.AppendEvent([]byte("behind the gap"))
	require.NoError(t, err)
	require.EqualValues(t, 50, n)
	require.Equal(t, []string{"1 kept", "50 behind the gap"}, texts(t, j, 1))
	require.NoError(t, j.Close())
}

// TestCrashes attacks the promises of sync: whatever was appended under `always`, or before a Sync under `commit`, is there after a crash
// that loses any part of the rest, and what is there is a prefix of what was appended.
func TestCrashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 42))
		mode := rapid.SampledFrom([]Sync{SyncCommit, SyncAlways}).Draw(t, "sync")
		opts := Options{Sync: mode, SegmentSize: rapid.SampledFrom([]int64{1, 300, 1 << 20}).Draw(t, "segment size"), ahead: rapid.SampledFrom([]int64{1, 200, 1 << 20}).Draw(t, "ahead")}
		disk := vfs.NewCrashableMem()
		j := open(t, disk, opts)
		all := []string{}
		safe := 0
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "n") {
					row := fmt.Sprint("row ", rng.IntN(1000))
					n, err := j.Append(lines(0, row))
					require.NoError(t, err)
					all = append(all, fmt.Sprintf("%d p0 %s", n, row))
				}
				if mode == SyncAlways {
					safe = len(all)
				}
			},
			"sync": func(t *rapid.T) {
				require.NoError(t, j.Sync())
				safe = len(all)
			},
			"restart": func(t *rapid.T) {
				require.NoError(t, j.Close())
				j = open(t, disk, opts)
				safe = len(all)
			},
			"crash": func(t *rapid.T) {
				disk = disk.CrashClone(vfs.CrashCloneCfg{
					UnsyncedDataPercent: rapid.SampledFrom([]int{0, 50, 90, 100}).Draw(t, "survives"), RNG: rng,
				})
				o := opts
				o.Committed = uint64(safe) + 1
				j = open(t, disk, o)
				got := texts(t, j, 1)
				require.GreaterOrEqual(t, len(got), safe)
				require.LessOrEqual(t, len(got), len(all))
				require.Equal(t, all[:len(got)], got)
				all = all[:len(got)]
				safe = len(all) // opening has made safe what it has found
			},
			"": func(t *rapid.T) {
				require.Equal(t, all, texts(t, j, 1))
				require.EqualValues(t, len(all)+1, j.Next())
			},
		})
	})
}

// files are the segments of a journal on the real disk that holds synced records in three segments.
func damagedJournal(t *testing.T) (dir string, segments []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "journal")
	j, err := Open(dir, Options{Sync: SyncAlways, SegmentSize: 400})
	require.NoError(t, err)
	for i := range 20 {
		_, err := j.Append(lines(0, fmt.Sprintf("row %02d, of some length", i)))
		require.NoError(t, err)
	}
	require.NoError(t, j.Close())
	segments, err = filepath.Glob(filepath.Join(dir, "*.seg"))
	require.NoError(t, err)
	require.Greater(t, len(segments), 2)
	return dir, segments
}

func TestDamageIsNamedAndNeverTakenForATornTail(t *testing.T) {
	flip := func(t *testing.T, path string, at int) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		b[at] ^= 0x04
		require.NoError(t, os.WriteFile(path, b, 0o600))
	}
	for _, c := range []struct {
		name string
		harm func(t *testing.T, segments []string) (bad string)
	}{
		{"a bit in a record of the last segment", func(t *testing.T, s []string) string {
			flip(t, s[len(s)-1], headerSize+frameHeader+3)
			return s[len(s)-1]
		}},
		{"the length of a record of the last segment", func(t *testing.T, s []string) string {
			flip(t, s[len(s)-1], headerSize+4)
			return s[len(s)-1]
		}},
		{"a bit in an older segment", func(t *testing.T, s []string) string {
			flip(t, s[0], headerSize+frameHeader+3)
			return s[0]
		}},
		{"the header of an older segment", func(t *testing.T, s []string) string {
			flip(t, s[1], 9)
			return s[1]
		}},
		{"an older segment cut short", func(t *testing.T, s []string) string {
			require.NoError(t, os.Truncate(s[0], headerSize+frameHeader+3))
			return s[0]
		}},
		{"an older segment removed", func(t *testing.T, s []string) string {
			require.NoError(t, os.Remove(s[1]))
			return s[2]
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, segments := damagedJournal(t)
			bad := c.harm(t, segments)
			j, err := Open(dir, Options{})
			if err == nil {
				err = j.Replay(1, func(Record) error { return nil })
				require.NoError(t, j.Close())
			}
			require.ErrorIs(t, err, state.BadJournal)
			require.ErrorContains(t, err, filepath.Base(bad))
		})
	}
}

func TestATornTailIsCutOff(t *testing.T) {
	dir, segments := damagedJournal(t)
	last := segments[len(segments)-1]
	whole, err := os.ReadFile(last)
	require.NoError(t, err)
	j, err := Open(dir, Options{})
	require.NoError(t, err)
	all := texts(t, j, 1)
	require.NoError(t, j.Close())
	for cutAt := headerSize + 1; cutAt < len(whole); cutAt += 7 {
		leftover, err := filepath.Glob(filepath.Join(dir, "*.seg"))
		require.NoError(t, err)
		for _, s := range leftover {
			if s > last {
				require.NoError(t, os.Remove(s))
			}
		}
		require.NoError(t, os.WriteFile(last, whole[:cutAt], 0o600))
		j, err := Open(dir, Options{})
		require.NoError(t, err)
		got := texts(t, j, 1)
		require.Equal(t, all[:len(got)], got)
		n, err := j.AppendEvent([]byte("goes on"))
		require.NoError(t, err)
		require.EqualValues(t, len(got)+1, n)
		require.NoError(t, j.Close())
	}
}

func TestManyAppendersShareSyncs(t *testing.T) {
	disk := vfs.NewCrashableMem()
	j := open(t, disk, Options{Sync: SyncAlways, SegmentSize: 2000})
	var wg sync.WaitGroup
	for p := range uint32(4) {
		wg.Go(func() {
			for i := range 50 {
				_, err := j.Append(lines(p, fmt.Sprint(i)))
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	j = open(t, disk.CrashClone(vfs.CrashCloneCfg{}), Options{})
	count := map[string]int{}
	for _, s := range texts(t, j, 1) {
		var n, p, i int
		_, err := fmt.Sscanf(s, "%d p%d %d", &n, &p, &i)
		require.NoError(t, err)
		key := fmt.Sprint("p", p)
		require.Equal(t, count[key], i, "each appender's records stay in order")
		count[key]++
	}
	require.Equal(t, map[string]int{"p0": 50, "p1": 50, "p2": 50, "p3": 50}, count)
}

func TestReadNeedsNoOwner(t *testing.T) {
	dir, _ := damagedJournal(t)
	n := 0
	require.NoError(t, Read(vfs.Default, dir, 0, func(r Record) error {
		r.Batch.Release()
		n++
		return nil
	}))
	require.Equal(t, 20, n)
}

// FuzzSegment feeds the reader any bytes behind a header: no panic, no endless loop, no frame whose checksum is wrong.
func FuzzSegment(f *testing.F) {
	one := beginFrame(nil)
	one = appendBatch(one, lines(3, "a", "b"))
	endFrame(one, 1, headerSize)
	two := append(beginFrame(nil), kindEvent, 'x')
	endFrame(two, 2, int64(headerSize+len(one)))
	f.Add(append(append([]byte{}, one...), two...))
	f.Add(one[:len(one)-1])
	f.Add(append(append([]byte{}, one[:len(one)-1]...), two...))
	f.Fuzz(func(t *testing.T, body []byte) {
		file := append(appendHeader(nil, 1, 1), body...)
		r, ok, err := newReader(bytes.NewReader(file), int64(len(file)))
		require.NoError(t, err)
		require.True(t, ok)
		for r.frame() {
			b := batch.Get()
			if len(r.payload) > 0 && r.payload[0] != kindEvent {
				_ = decodeBatch(r.payload[0], r.payload[1:], b)
			}
			b.Release()
		}
		require.NoError(t, r.err)
		require.LessOrEqual(t, r.offset, int64(len(file)))
		require.Equal(t, r.ending == clean, r.offset == int64(len(file)))
	})
}

// FuzzBatch decodes any payload: an error or a batch that is encoded to something that decodes to the same.
func FuzzBatch(f *testing.F) {
	b := lines(3, "a", "", "bcd")
	b.Position, b.Times = []byte("pos"), []int64{1, 2, 3}
	b.Rejects = []batch.Reject{{After: 1, Code: "partial", Data: []byte("x"), Length: 1}}
	b.Marks = []batch.Mark{{After: 3, Watermark: 9}}
	f.Add(appendBatch(nil, b)[1:])
	f.Add(appendBatch(nil, lines(0))[1:])
	b.Rejects[0].Position, b.Rejects[0].HasPosition = 7, true
	f.Add(appendBatch(nil, b)[1:])
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, kind := range []byte{kindBatch, kindPlaced} {
			b, again := new(batch.Batch), new(batch.Batch)
			if decodeBatch(kind, payload, b) != nil {
				continue
			}
			for i := range b.N {
				b.Row(i)
			}
			text := appendBatch(nil, b)
			require.NoError(t, decodeBatch(text[0], text[1:], again))
			require.Equal(t, text, appendBatch(nil, again))
		}
	})
}

// unsyncable is a disk on which syncing files fails while told so. Like a real one it tells of a failure once: what it still shows is not on it.
type unsyncable struct {
	vfs.FS
	fails *bool
	wrote map[string]int // how often a segment was begun or written anew
}

func (u unsyncable) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := u.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	u.wrote[name]++
	return &unsyncableFile{f, u}, nil
}

type unsyncableFile struct {
	vfs.File
	disk unsyncable
}

func (f *unsyncableFile) SyncData() error {
	if *f.disk.fails {
		return errors.New("input/output error")
	}
	return f.File.SyncData()
}

// A sync that has failed is not believed when it is tried again: what it was about is written once more.
func TestAFailedSyncIsNotTriedAgainAndBelieved(t *testing.T) {
	fails := false
	disk := unsyncable{vfs.NewMem(), &fails, map[string]int{}}
	j := open(t, disk, Options{})
	_, err := j.AppendEvent([]byte("a"))
	require.NoError(t, err)
	require.NoError(t, j.Sync())
	_, err = j.AppendEvent([]byte("b"))
	require.NoError(t, err)
	fails = true
	require.ErrorContains(t, j.Sync(), "input/output error")
	fails = false
	require.ErrorContains(t, j.Sync(), "input/output error", "the first failure has the last word")
	_ = j.Close()

	aside := disk.PathJoin("journal", Segment{First: 1}.name()) + ".cut"
	require.Zero(t, disk.wrote[aside])
	j = open(t, disk, Options{})
	require.Equal(t, 1, disk.wrote[aside], "written again")
	require.Equal(t, []string{"1 a", "2 b"}, texts(t, j, 1))
	require.NoError(t, j.Close())
	j = open(t, disk, Options{})
	require.Equal(t, 1, disk.wrote[aside], "once")
	require.NoError(t, j.Close())
}

// A journal that has answered survives a power failure from its first record on, with the folders that hold it.
func TestTheFoldersOfAJournalAreOnTheDisk(t *testing.T) {
	disk := vfs.NewCrashableMem()
	j, err := Open("pipeline/journal/source", Options{FS: disk})
	require.NoError(t, err)
	_, err = j.AppendEvent([]byte("a"))
	require.NoError(t, err)
	require.NoError(t, j.Sync())
	after := disk.CrashClone(vfs.CrashCloneCfg{})
	require.NoError(t, j.Close())
	j, err = Open("pipeline/journal/source", Options{FS: after})
	require.NoError(t, err)
	require.Equal(t, []string{"1 a"}, texts(t, j, 1))
	require.NoError(t, j.Close())
}

func TestRecordsGoToTheDiskAheadOfTheirCommit(t *testing.T) {
	disk := vfs.NewCrashableMem()
	j := open(t, disk, Options{ahead: 100})
	for range 3 {
		_, err := j.Append(lines(0, strings.Repeat("x", 200)))
		require.NoError(t, err)
		j.flushes.Wait()
	}
	after := open(t, disk.CrashClone(vfs.CrashCloneCfg{}), Options{})
	require.Len(t, texts(t, after, 1), 3)
	require.NoError(t, after.Close())
	require.NoError(t, j.Close())
}

func TestAFailedSyncAheadBreaksTheJournal(t *testing.T) {
	fails := false
	disk := unsyncable{vfs.NewMem(), &fails, map[string]int{}}
	j := open(t, disk, Options{ahead: 1})
	fails = true
	_, err := j.AppendEvent([]byte("a"))
	require.NoError(t, err)
	j.flushes.Wait()
	fails = false
	_, err = j.AppendEvent([]byte("b"))
	require.ErrorContains(t, err, "input/output error")
	require.ErrorContains(t, j.Sync(), "input/output error")
	require.True(t, j.doubted(), "what is there is written again when it is opened")
	_ = j.Close()
}

func TestAJournalThatGoesWithItsProcessNeverWaitsForTheDisk(t *testing.T) {
	fails := false
	disk := unsyncable{vfs.NewMem(), &fails, map[string]int{}}
	j := open(t, disk, Options{Sync: SyncNever, SegmentSize: 100, ahead: 1})
	fails = true
	want := []string{}
	for i := range 20 {
		n, err := j.Append(lines(0, fmt.Sprint("row ", i)))
		require.NoError(t, err)
		want = append(want, fmt.Sprintf("%d p0 row %d", n, i))
	}
	require.Greater(t, len(j.Segments()), 2)
	require.NoError(t, j.Sync())
	require.Equal(t, want, texts(t, j, 1))
	require.NoError(t, j.Truncate(j.Next()))
	require.Len(t, j.Segments(), 1)
	require.NoError(t, j.Close())
}

// slowRemoval is a disk that takes its time to remove a segment.
type slowRemoval struct {
	vfs.FS
	begun, proceed chan struct{}
}

func (d slowRemoval) Remove(name string) error {
	if strings.HasSuffix(name, suffix) {
		d.begun <- struct{}{}
		<-d.proceed
	}
	return d.FS.Remove(name)
}

func TestRecordsComeWhileSegmentsAreRemoved(t *testing.T) {
	disk := slowRemoval{vfs.NewMem(), make(chan struct{}), make(chan struct{})}
	j, err := Open("journal", Options{FS: disk, Sync: SyncNever, SegmentSize: 1})
	require.NoError(t, err)
	event := func() {
		_, err := j.AppendEvent([]byte("a"))
		require.NoError(t, err)
	}
	event()
	event()
	truncated := make(chan error, 1)
	go func() { truncated <- j.Truncate(2) }()
	<-disk.begun
	event()
	disk.proceed <- struct{}{}
	require.NoError(t, <-truncated)
	require.Equal(t, []string{"2 a", "3 a"}, texts(t, j, 2))
	require.NoError(t, j.Close())
}
