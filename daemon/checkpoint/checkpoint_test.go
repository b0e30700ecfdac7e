package checkpoint

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

var epoch = time.UnixMilli(1_700_000_000_000)

func openStore(t require.TestingT, fs vfs.FS) *state.Store {
	s, err := state.Open("state", state.Options{FS: fs})
	require.NoError(t, err)
	return s
}

func openLog(t require.TestingT, store *state.Store, clk clock.Clock) (*Log, *State) {
	l, s, err := Open(Settings{Store: store, Clock: clk})
	require.NoError(t, err)
	return l, s
}

func clicks(position string) Snapshot {
	return Snapshot{
		Sources: map[string]Source{"clicks": {
			Watermark: 5000, Guard: []byte("guard"),
			Partitions: map[string]Partition{
				"a.log":       {Position: []byte(position), Assigner: []byte("max 6000"), Watermark: 6000},
				"b\x00odd/né": {Position: []byte("7"), Header: []byte("user,ts"), Watermark: batch.NoWatermark, Ended: true},
			},
		}},
		Stages: map[string]Stage{"per_user": {Watermark: 5000, Valve: []byte("valve")}},
	}
}

func TestACommitComesBack(t *testing.T) {
	disk := vfs.NewMem()
	store := openStore(t, disk)
	clk := clock.NewVirtual(epoch)
	l, s := openLog(t, store, clk)
	require.Zero(t, s.Number)
	require.NotEmpty(t, s.StoreID)
	var d state.Delta
	d.Set(1, 5000, 1, []byte("user7"), []byte("count 3"))
	stats, err := l.Commit(bg, &Cut{Snapshot: clicks("42"), Deltas: []*state.Delta{&d}})
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Number)
	require.NoError(t, store.Close())

	store = openStore(t, disk)
	_, again := openLog(t, store, clk)
	require.Equal(t, clicks("42"), again.Snapshot)
	require.EqualValues(t, 1, again.Number)
	require.Equal(t, epoch.UnixMilli(), again.Time)
	require.Equal(t, s.StoreID, again.StoreID)
	v, found, err := store.Get(1, 5000, 1, []byte("user7"))
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "count 3", string(v))
	require.NoError(t, store.Close())
}

func TestOnlyWhatMovedIsWritten(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	l, _ := openLog(t, store, clock.NewVirtual(epoch))
	first, err := l.Commit(bg, &Cut{Snapshot: clicks("42")})
	require.NoError(t, err)
	require.Equal(t, 5, first.Entries) // source, two partitions, stage, head
	moved, err := l.Commit(bg, &Cut{Snapshot: clicks("43")})
	require.NoError(t, err)
	require.Equal(t, 2, moved.Entries)

	gone := clicks("43")
	delete(gone.Sources["clicks"].Partitions, "a.log")
	_, err = l.Commit(bg, &Cut{Snapshot: gone})
	require.NoError(t, err)
	s, err := Read(store)
	require.NoError(t, err)
	require.Equal(t, gone, s.Snapshot)
}

type contributor func(d *state.Delta)

func (c contributor) Contribute(d *state.Delta) { c(d) }

func TestPartsBelongToTheCommit(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	l, _ := openLog(t, store, clock.NewVirtual(epoch))
	n := keys.Name(nil).Text("outbox").Text("out").Number(1)
	_, err := l.Commit(bg, &Cut{Parts: []Contributor{contributor(func(d *state.Delta) { d.Put(n, []byte("rows")) })}})
	require.NoError(t, err)
	v, err := store.Meta(n)
	require.NoError(t, err)
	require.Equal(t, "rows", string(v))
}

// TestAnySnapshotComesBack commits random snapshots one after the other, with crashes between, and compares with the last one.
func TestAnySnapshotComesBack(t *testing.T) {
	bytes := rapid.SliceOfN(rapid.Byte(), 1, 5)
	maybe := rapid.OneOf(rapid.Just([]byte(nil)), bytes)
	names := rapid.SampledFrom([]string{"a", "a\x00", "b", "", "partition"})
	rapid.Check(t, func(t *rapid.T) {
		disk := vfs.NewCrashableMem()
		store := openStore(t, disk)
		clk := clock.NewVirtual(epoch)
		l, _ := openLog(t, store, clk)
		for range rapid.IntRange(1, 5).Draw(t, "commits") {
			s := newSnapshot()
			for range rapid.IntRange(0, 3).Draw(t, "sources") {
				v := Source{Watermark: rapid.Int64().Draw(t, "w"), Guard: maybe.Draw(t, "guard"), Partitions: map[string]Partition{}}
				for range rapid.IntRange(0, 3).Draw(t, "partitions") {
					v.Partitions[names.Draw(t, "partition")] = Partition{
						Position: maybe.Draw(t, "position"), Header: maybe.Draw(t, "header"), Assigner: maybe.Draw(t, "assigner"),
						Watermark: rapid.Int64().Draw(t, "w"), Ended: rapid.Bool().Draw(t, "ended"),
					}
				}
				s.Sources[names.Draw(t, "source")] = v
			}
			for range rapid.IntRange(0, 2).Draw(t, "stages") {
				s.Stages[names.Draw(t, "stage")] = Stage{Watermark: rapid.Int64().Draw(t, "w"), Valve: maybe.Draw(t, "valve")}
			}
			_, err := l.Commit(bg, &Cut{Snapshot: s})
			require.NoError(t, err)
			if rapid.Bool().Draw(t, "crash") {
				disk = disk.CrashClone(vfs.CrashCloneCfg{})
				_ = store.Close()
				store = openStore(t, disk)
				l, _ = openLog(t, store, clk)
			}
			got, err := Read(store)
			require.NoError(t, err)
			require.Equal(t, s, got.Snapshot)
		}
		require.NoError(t, store.Close())
	})
}

// smallDisk is a file system that says how much is free.
type smallDisk struct {
	vfs.FS
	avail atomic.Uint64
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.avail.Load(), TotalBytes: 1 << 30}, nil
}

func TestAFullDiskIsWaitedFor(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.avail.Store(1 << 30)
	store := openStore(t, disk)
	defer store.Close()
	clk := clock.NewVirtual(epoch)
	said := make(chan error, 10)
	l, _, err := Open(Settings{Store: store, Clock: clk, Full: func(err error) { said <- err }})
	require.NoError(t, err)
	require.NoError(t, l.Gate(bg))

	disk.avail.Store(0)
	done := make(chan error, 1)
	go func() {
		_, err := l.Commit(bg, &Cut{Snapshot: clicks("42")})
		done <- err
	}()
	require.ErrorIs(t, <-said, state.NoSpace)

	// While it is full no more input is taken.
	ctx, cancel := context.WithCancelCause(bg)
	enough := errors.New("enough")
	gate := make(chan error, 1)
	go func() { gate <- l.Gate(ctx) }()
	cancel(enough)
	require.Equal(t, enough, <-gate)
	go func() { gate <- l.Gate(bg) }()

	disk.avail.Store(1 << 30)
	require.Eventually(t, func() bool { // the commit may not have set its alarm yet
		clk.Advance(time.Second)
		return len(done) > 0
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, <-done)
	require.NoError(t, <-said)
	require.NoError(t, <-gate)
	s, err := Read(store)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Number)
	require.NoError(t, store.Err())
}

func TestGivingUpOnAFullDiskHarmsNothing(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.avail.Store(1 << 30)
	store := openStore(t, disk)
	defer store.Close()
	said := make(chan error, 1)
	l, _, err := Open(Settings{Store: store, Clock: clock.NewVirtual(epoch), Full: func(err error) { said <- err }})
	require.NoError(t, err)
	disk.avail.Store(0)
	ctx, cancel := context.WithCancelCause(bg)
	enough := errors.New("enough")
	go func() {
		<-said
		cancel(enough)
	}()
	_, err = l.Commit(ctx, &Cut{Snapshot: clicks("42")})
	require.Equal(t, enough, err)
	require.NoError(t, store.Err())
}

func TestDamagedRecordsAreNamed(t *testing.T) {
	for _, n := range []keys.Name{
		name(kindCheckpoint), name(kindSource, "clicks"), name(kindPartition, "clicks", "a.log"), name(kindStage, "per_user"),
		name(kindPartition, "nobody", "a.log"), append(name(kindStage, "per_user"), 'x'),
	} {
		store := openStore(t, vfs.NewMem())
		l, _ := openLog(t, store, clock.NewVirtual(epoch))
		_, err := l.Commit(bg, &Cut{Snapshot: clicks("42")})
		require.NoError(t, err)
		var d state.Delta
		d.Put(n, []byte{99})
		_, err = store.Commit(bg, &d)
		require.NoError(t, err)
		_, err = Read(store)
		require.ErrorIs(t, err, state.Damaged)
		require.ErrorContains(t, err, fmt.Sprintf("%q", string(n)))
		require.NoError(t, store.Close())
	}
}

// TestStoredRecordsStayReadable holds a sample of each record as version 1 wrote it. A new version adds samples; these stay.
func TestStoredRecordsStayReadable(t *testing.T) {
	h, err := decodeHead(unhex(t, "01"+"2a"+"80d095ffbc31"+"06"+"414243444546"))
	require.NoError(t, err)
	require.Equal(t, head{42, 850_000_000_000, "ABCDEF"}, h)
	s, err := decodeSource(unhex(t, "01"+"904e"+"05"+"6775617264"))
	require.NoError(t, err)
	require.Equal(t, Source{Watermark: 5000, Guard: []byte("guard"), Partitions: map[string]Partition{}}, s)
	p, err := decodePartition(unhex(t, "01"+"01"+"ffffffffffffffffff01"+"0137"+"07757365722c7473"+"00"))
	require.NoError(t, err)
	require.Equal(t, Partition{Position: []byte("7"), Header: []byte("user,ts"), Watermark: batch.NoWatermark, Ended: true}, p)
	g, err := decodeStage(unhex(t, "01"+"904e"+"0576616c7665"))
	require.NoError(t, err)
	require.Equal(t, Stage{Watermark: 5000, Valve: []byte("valve")}, g)
	c, err := decodeComponent(unhex(t, "01"+"057374616765"+"07"+"02"+"7331"+"0577"+"6f726473"))
	require.NoError(t, err)
	require.Equal(t, Component{Kind: StageComponent, Operator: 7, Shape: "s1", Words: "words"}, c)
	require.Equal(t, h.encode(), unhex(t, "012a80d095ffbc3106414243444546"))
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func TestPace(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		last Stats
		want time.Duration
	}{
		"quick commits keep the interval":       {Stats{Took: 10 * time.Millisecond}, second},
		"slow ones take a quarter of the time":  {Stats{Took: 2 * second}, 6 * second},
		"up to a limit":                         {Stats{Took: 30 * second}, 10 * second},
		"a database falling behind gets longer": {Stats{Pressure: state.Pressure{Sublevels: 11}}, 2 * second},
	} {
		require.Equal(t, c.want, Pace(second, 10*second, c.last, 20), name)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(clicks("42").Sources["clicks"].encode())
	f.Add(clicks("42").Sources["clicks"].Partitions["a.log"].encode())
	f.Add(clicks("42").Stages["per_user"].encode())
	f.Add(head{1, 2, "x"}.encode())
	f.Add(Component{Kind: StageComponent, Operator: 1, Shape: "s", Words: "w"}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := decodeHead(b); err == nil {
			again, err := decodeHead(v.encode())
			require.NoError(t, err)
			require.Equal(t, v, again)
		}
		if v, err := decodeSource(b); err == nil {
			again, err := decodeSource(v.encode())
			require.NoError(t, err)
			require.Equal(t, v, again)
		}
		if v, err := decodePartition(b); err == nil {
			again, err := decodePartition(v.encode())
			require.NoError(t, err)
			require.Equal(t, v, again)
		}
		if v, err := decodeStage(b); err == nil {
			again, err := decodeStage(v.encode())
			require.NoError(t, err)
			require.Equal(t, v, again)
		}
		if v, err := decodeComponent(b); err == nil {
			again, err := decodeComponent(v.encode())
			require.NoError(t, err)
			require.Equal(t, v, again)
		}
	})
}

func TestARestoredStoreHasTheSameStateAndTheNamesThatWereChosen(t *testing.T) {
	for sinks, same := range map[Sinks]bool{Exact: true, Skip: true, Again: false} {
		store := openStore(t, vfs.NewMem())
		l, before := openLog(t, store, clock.NewVirtual(epoch))
		require.Equal(t, l.StoreID(true), l.StoreID(false), "at first there is one name")
		_, err := l.Commit(bg, &Cut{Snapshot: clicks("42")})
		require.NoError(t, err)
		require.NoError(t, Renew(bg, store, sinks))
		l, after := openLog(t, store, clock.NewVirtual(epoch))
		require.Equal(t, same, before.StoreID == l.StoreID(true), "%s: sinks with books", sinks)
		require.NotEqual(t, before.StoreID, l.StoreID(false), "%s: sinks without", sinks)
		require.Equal(t, sinks == Skip, after.Skip)
		require.Equal(t, clicks("42"), after.Snapshot)
		require.EqualValues(t, 1, after.Number)
		books, others := l.StoreID(true), l.StoreID(false)

		require.NoError(t, l.SinksAsked(bg))
		l, after = openLog(t, store, clock.NewVirtual(epoch))
		require.False(t, after.Skip, "they are asked once")
		require.Equal(t, []string{books, others}, []string{l.StoreID(true), l.StoreID(false)})
		require.NoError(t, store.Close())
	}
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	require.ErrorContains(t, Renew(bg, store, "never"), "never")
}
