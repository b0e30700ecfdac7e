package deadletter

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state"
)

func letter(raw string) Letter {
	return Letter{
		Code: "malformed", Message: "not JSON", Component: "clicks", Port: "errors", Source: "clicks", Partition: "a.log",
		Position: 17, Unit: batch.ByteOffset, EventTime: batch.NoTimestamp, Watermark: 1_700_000_000_000, ProcessingTime: 1_700_000_001_000,
		Raw: []byte(raw), RawLength: int64(len(raw)),
	}
}

func open(t require.TestingT, fs vfs.FS, opts Options) *Store {
	opts.FS = fs
	s, err := Open("letters", opts)
	require.NoError(t, err)
	return s
}

func raws(t require.TestingT, fs vfs.FS, filter Filter) []string {
	out := []string{}
	require.NoError(t, Read(fs, "letters", filter, func(l Letter) error {
		out = append(out, fmt.Sprint(l.Number, " ", string(l.Raw)))
		return nil
	}))
	return out
}

func TestALetterComesBackAsItWas(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Options{})
	want := letter("{\xff")
	require.NoError(t, s.Append(0, []Letter{want}))
	want.Number = 1
	n := 0
	// Read beside the open store, as the command line does.
	require.NoError(t, Read(disk, "letters", Filter{}, func(got Letter) error {
		require.Equal(t, want, got)
		n++
		return nil
	}))
	require.Equal(t, 1, n)
	require.NoError(t, s.Close())
}

func TestJSON(t *testing.T) {
	l := letter(`{"a":`)
	l.Number = 5
	b, err := json.Marshal(l)
	require.NoError(t, err)
	require.JSONEq(t, `{"number":5,"code":"malformed","message":"not JSON","component":"clicks","port":"errors","source":"clicks",
		"partition":"a.log","position":17,"position_unit":"byte","watermark":"2023-11-14T22:13:20.000Z",
		"processing_time":"2023-11-14T22:13:21.000Z","raw":"{\"a\":","raw_length":5}`, string(b))
	l.Raw, l.EventTime = []byte{0xff, 0}, batch.EndOfInput
	b, err = json.Marshal(l)
	require.NoError(t, err)
	require.Contains(t, string(b), `"raw_base64":"/wA="`)
	require.Contains(t, string(b), `"event_time":"end of input"`)
	l.EventTime = 1 << 60
	b, err = json.Marshal(l)
	require.NoError(t, err)
	require.Contains(t, string(b), `"event_time":"out of range"`)
}

func TestDeliveredTwiceIsStoredOnce(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Options{})
	require.NoError(t, s.Append(1, []Letter{letter("a"), letter("b")}))
	require.NoError(t, s.Append(1, []Letter{letter("a"), letter("b"), letter("c")})) // after a crash, with what came since
	require.EqualValues(t, 4, s.Next())
	require.Equal(t, []string{"1 a", "2 b", "3 c"}, raws(t, disk, Filter{}))
	require.NoError(t, s.Append(10, []Letter{letter("d")})) // the directory was replaced by an older one
	require.Equal(t, []string{"1 a", "2 b", "3 c", "10 d"}, raws(t, disk, Filter{}))
	require.NoError(t, s.Close())
}

func TestTheOldestGoAndAreCounted(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Options{MaxBytes: 64 << 10})
	const all = 3000
	for i := range all {
		require.NoError(t, s.Append(0, []Letter{letter(strings.Repeat("x", 40))}))
		if i == 10 {
			require.NoError(t, Purge(disk, "letters", Range{1, 5})) // purged letters are not dropped ones
		}
	}
	left := len(raws(t, disk, Filter{}))
	require.Positive(t, s.Dropped())
	require.EqualValues(t, all-5, s.Dropped()+uint64(left))
	st, err := Inspect(disk, "letters")
	require.NoError(t, err)
	require.LessOrEqual(t, st.Bytes, int64(64<<10))
	require.EqualValues(t, left, st.Letters)
	require.Equal(t, s.Dropped(), st.Dropped)
	require.EqualValues(t, all+1, st.Next)
	require.NoError(t, s.Close())

	again := open(t, disk, Options{MaxBytes: 64 << 10})
	require.Equal(t, st.Dropped, again.Dropped())
	require.NoError(t, again.Close())
}

func TestALongRecordKeepsItsBeginning(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Options{MaxRaw: 3})
	require.NoError(t, s.Append(0, []Letter{letter("abcdef")}))
	require.NoError(t, Read(disk, "letters", Filter{}, func(l Letter) error {
		require.Equal(t, "abc", string(l.Raw))
		require.EqualValues(t, 6, l.RawLength)
		return nil
	}))
	require.NoError(t, s.Close())
}

func TestFilterAndPurge(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Options{})
	late := letter("late")
	late.Code, late.Component, late.Port, late.ProcessingTime = "late", "per_user", "late", 5000
	require.NoError(t, s.Append(0, []Letter{letter("a"), late, letter("b")}))
	for name, c := range map[string]struct {
		filter Filter
		want   []string
	}{
		"code":      {Filter{Codes: []string{"late"}}, []string{"2 late"}},
		"component": {Filter{Components: []string{"clicks", "other"}}, []string{"1 a", "3 b"}},
		"numbers":   {Filter{Numbers: []Range{{1, 1}, {3, 9}}}, []string{"1 a", "3 b"}},
		"time":      {Filter{From: 5000, To: 5001}, []string{"2 late"}},
		"both":      {Filter{Codes: []string{"late"}, Numbers: []Range{{1, 1}}}, []string{}},
	} {
		require.Equal(t, c.want, raws(t, disk, c.filter), name)
	}
	require.NoError(t, Purge(disk, "letters", Range{1, 1}, Range{2, 2}))
	require.NoError(t, s.Append(0, []Letter{letter("c")}))
	require.Equal(t, []string{"3 b", "4 c"}, raws(t, disk, Filter{}))
	require.NoError(t, Purge(disk, "letters", Range{0, ^uint64(0)}))
	require.Empty(t, raws(t, disk, Filter{}))
	require.NoError(t, s.Close())
}

func TestRangesAreASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		naive := map[uint64]bool{}
		var all []Range
		edge := rapid.OneOf(rapid.Uint64Range(0, 20), rapid.SampledFrom([]uint64{^uint64(0), ^uint64(0) - 1}))
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			r := Range{edge.Draw(t, "first"), edge.Draw(t, "last")}
			for n := range naiveNumbers {
				if r.First <= n && n <= r.Last {
					naive[n] = true
				}
			}
			all = append(all, r)
		}
		set := union(all)
		for n := range naiveNumbers {
			require.Equal(t, naive[n], set.has(n), "%d in %v", n, set)
		}
	})
}

func naiveNumbers(yield func(uint64) bool) {
	for n := range uint64(25) {
		if !yield(n) {
			return
		}
	}
	_ = yield(^uint64(0)-1) && yield(^uint64(0))
}

// TestCrashes: what Append has answered for is there after a crash, once, and counting goes on rightly.
func TestCrashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 42))
		disk := vfs.NewCrashableMem()
		opts := Options{MaxBytes: 64 << 10}
		s := open(t, disk, opts)
		next := uint64(1)
		for range rapid.IntRange(1, 6).Draw(t, "lives") {
			for range rapid.IntRange(1, 20).Draw(t, "appends") {
				letters := make([]Letter, rapid.IntRange(1, 5).Draw(t, "letters"))
				for i := range letters {
					letters[i] = letter(fmt.Sprint("raw ", next+uint64(i), strings.Repeat(" ", rng.IntN(3000))))
				}
				require.NoError(t, s.Append(next, letters))
				next += uint64(len(letters))
			}
			disk = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
			s = open(t, disk, opts)
			require.Equal(t, next, s.Next())
			first, n := uint64(0), uint64(0)
			require.NoError(t, Read(disk, "letters", Filter{}, func(l Letter) error {
				if n == 0 {
					first = l.Number
				}
				require.Equal(t, first+n, l.Number)
				require.True(t, strings.HasPrefix(string(l.Raw), fmt.Sprint("raw ", l.Number)))
				n++
				return nil
			}))
			require.Equal(t, next-1, s.Dropped()+n)
		}
	})
}

func TestDamageCostsLettersAndNotThePipeline(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "letters")
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, s.Append(0, []Letter{letter("a"), letter("b")}))
	}
	require.NoError(t, s.Close())
	files, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	require.NoError(t, err)
	b, err := os.ReadFile(files[0])
	require.NoError(t, err)
	b[len(b)/3] ^= 1
	require.NoError(t, os.WriteFile(files[0], b, 0o600))

	n := 0
	err = Read(vfs.Default, dir, Filter{}, func(Letter) error { n++; return nil })
	require.ErrorIs(t, err, state.BadJournal)
	require.Positive(t, n, "the letters before the damage are read")

	s, err = Open(dir, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{files[0] + ".damaged"}, s.SetAside())
	require.NoError(t, s.Append(7, []Letter{letter("c")}))
	require.EqualValues(t, 8, s.Next())
	require.NoError(t, s.Close())
}

func TestOldLettersGo(t *testing.T) {
	disk := vfs.NewMem()
	opts := Options{MaxAge: 80 * time.Hour}
	s := open(t, disk, opts)
	hour := time.Hour.Milliseconds()
	at := func(h int64) Letter {
		l := letter(fmt.Sprint("hour ", h))
		l.ProcessingTime = h * hour
		return l
	}
	for h := int64(1); h <= 200; h++ {
		require.NoError(t, s.Append(0, []Letter{at(h)}))
		if h == 150 {
			require.NoError(t, s.Close())
			s = open(t, disk, opts)
		}
	}
	left := raws(t, disk, Filter{})
	require.Equal(t, "200 hour 200", left[len(left)-1])
	require.InDelta(t, 80, len(left), 13)
	require.EqualValues(t, 200, s.Dropped()+uint64(len(left)))
	require.NoError(t, s.Expire(1000*hour)) // only the active segment, which nobody has sealed yet, or not even that
	require.LessOrEqual(t, len(raws(t, disk, Filter{})), 12)
	require.NoError(t, s.Expire(2000*hour))
	require.Empty(t, raws(t, disk, Filter{}))
	require.NoError(t, s.Close())
}

func TestAFullDiskIsPassedOver(t *testing.T) {
	full := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	})}
	disk := errorfs.Wrap(vfs.NewMem(), full)
	s := open(t, disk, Options{})
	require.NoError(t, s.Append(1, []Letter{letter("a")}))
	full.On()
	for range 2 {
		require.ErrorIs(t, s.Append(2, []Letter{letter("b")}), state.NoSpace)
	}
	full.Off()
	require.NoError(t, s.Append(2, []Letter{letter("b")}))
	require.Equal(t, []string{"1 a", "2 b"}, raws(t, disk, Filter{}))
	require.NoError(t, s.Close())
}

func FuzzLetter(f *testing.F) {
	l := letter("raw")
	f.Add(l.AppendTo(nil))
	f.Add([]byte{1, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var l, again Letter
		if l.Decode(b) != nil {
			return
		}
		require.NoError(t, again.Decode(l.AppendTo(nil)))
		require.Equal(t, l, again)
	})
}
