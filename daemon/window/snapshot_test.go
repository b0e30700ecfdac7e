package window

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// changes counts what a snapshot writes.
type changes struct{ set, deleted, dropped int }

func (c *changes) Set(int64, uint64, []byte, []byte)   { c.set++ }
func (c *changes) Merge(int64, uint64, []byte, []byte) {}
func (c *changes) Delete(int64, uint64, []byte)        { c.deleted++ }
func (c *changes) DropTime(int64)                      { c.dropped++ }

func snapshotOf(r *rig) changes {
	var c changes
	for _, op := range r.ops {
		op.Snapshot(&c)
	}
	return c
}

var countAndSum = []aggregate.Spec{{Name: "n", Func: "count"}, {Name: "sum", Func: "sum", Arg: "value"}}

func TestASnapshotHasOnlyWhatHasChanged(t *testing.T) {
	r := newRig(t, generalEngine, Spec{Type: Session, Gap: 10}, false, 1, countAndSum...)
	r.process(testRow{key: "a", ts: 1}, testRow{key: "b", ts: 1}, testRow{key: "c", ts: 1})
	require.Equal(t, changes{set: 3}, snapshotOf(r))
	require.Equal(t, changes{}, snapshotOf(r))

	r.process(testRow{key: "a", ts: 5})
	require.Equal(t, changes{set: 1}, snapshotOf(r), "a session that grows stays at its place")

	r.process(testRow{key: "b", ts: 0})
	require.Equal(t, changes{set: 1, deleted: 1}, snapshotOf(r), "one that begins earlier moves")

	r.process(testRow{key: "d", ts: 0})
	r.advance(10)
	require.Equal(t, changes{deleted: 2}, snapshotOf(r), "b and c have gone; d came and went and was never stored")
}

func TestASnapshotDropsAWindowOfAllKeysAtOnce(t *testing.T) {
	r := newRig(t, generalEngine, Spec{Type: Tumbling, Size: 10, EarlyCount: 100}, false, 1, countAndSum...)
	r.process(testRow{key: "a", ts: 1}, testRow{key: "b", ts: 2}, testRow{key: "c", ts: 11})
	require.Equal(t, changes{set: 3}, snapshotOf(r))
	r.process(testRow{key: "d", ts: 3})
	r.advance(9)
	require.Equal(t, changes{dropped: 1}, snapshotOf(r))
}

func TestRestoreRefusesDamagedState(t *testing.T) {
	spec := Spec{Type: Session, Gap: 10, Lateness: 100, Mode: Retracting}
	r := newRig(t, generalEngine, spec, false, 1, countAndSum...)
	r.process(testRow{key: "a", ts: 1})
	r.advance(50)
	r.checkpoint()
	require.Len(t, r.store, 1)
	fresh := func() Operator { return generalEngine.make(spec, r.layout, r.env, &Output{}) }
	for place, value := range r.store {
		key := []byte(place.key)
		require.NoError(t, fresh().Restore(place.time, place.hash, key, value))
		for n := range value {
			require.Error(t, fresh().Restore(place.time, place.hash, key, value[:n]), "%d of %d bytes", n, len(value))
		}
		require.Error(t, fresh().Restore(place.time, place.hash, key, append(value, 0)))
		require.Error(t, fresh().Restore(place.time+1, place.hash, key, value))
		require.Error(t, fresh().Restore(place.time, place.hash+1, key, value))
		require.Error(t, fresh().Restore(place.time, place.hash, key[:0], value))
		newer := append([]byte{99}, value[1:]...)
		require.ErrorContains(t, fresh().Restore(place.time, place.hash, key, newer), "version 99, this program knows 1")
		twice := fresh()
		require.NoError(t, twice.Restore(place.time, place.hash, key, value))
		require.ErrorContains(t, twice.Restore(place.time, place.hash, key, value), "twice")
	}
}

// FuzzRestore: state that is not ours is refused or taken, and never a panic, neither at once nor when it fires.
func FuzzRestore(f *testing.F) {
	spec := Spec{Type: Session, Gap: 10, Lateness: 100, Mode: Retracting, EarlyEvery: 5, EarlyCount: 3}
	layout, err := aggregate.New(countAndSum)
	if err != nil {
		f.Fatal(err)
	}
	env := Env{KeyFields: []string{"key"}, Meta: true}
	r := newRig(f, generalEngine, spec, true, 1, countAndSum...)
	r.process(testRow{key: "a", ts: 1}, testRow{key: "bb", ts: 30})
	r.advance(20)
	r.checkpoint()
	for place, value := range r.store {
		f.Add(place.time, []byte(place.key), value)
	}
	f.Fuzz(func(t *testing.T, time int64, key, value []byte) {
		if len(key) == 0 || key[0] != uint8(batch.String) {
			return // a key that nobody has encoded is found when it is decoded, which the hash makes practically impossible
		}
		op := newGeneral(spec, layout, env, &Output{})
		if op.Restore(time, rowkey.Hash(key[0], key[1:]), key, value) != nil {
			return
		}
		op.AdvanceWatermark(1000)
		op.AdvanceProcessingTime(1000)
		op.AdvanceWatermark(batch.EndOfInput)
	})
}

// TestCollectedLateRowsOutliveTheSetting: what was collected under late_firing = "10ms" is not lost when a restart brings other settings.
func TestCollectedLateRowsOutliveTheSetting(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"a firing for each late row": func(s *Spec) { s.LateEvery = 0 },
		"no lateness any more":       func(s *Spec) { s.LateEvery, s.Lateness = 0, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, generalEngine, Spec{Type: Session, Gap: 10, Lateness: 100, LateEvery: 10}, false, 1, countAndSum...)
			r.process(testRow{key: "a", ts: 1})
			require.Len(t, r.advance(12), 1)
			require.Empty(t, r.process(testRow{key: "a", ts: 1, value: 5}))
			r.checkpoint()
			change(&r.spec)
			r.start(1)
			for place, value := range r.store {
				require.NoError(t, r.ops[0].Restore(place.time, place.hash, []byte(place.key), value))
			}
			r.ops[0].RestoreWatermark(12)
			require.Equal(t, []string{"0: a [1,11) 2 5 ts=10"}, lines(r.advance(19)))
		})
	}
}

func TestPeekShowsWhatWouldBeEmitted(t *testing.T) {
	r := newRig(t, generalEngine, Spec{Type: Session, Gap: 10}, true, 1, countAndSum...)
	r.process(testRow{key: "a", ts: 1, value: 3}, testRow{key: "b", ts: 5, value: 4}, testRow{key: "a", ts: 50, value: 6})
	out := &Output{}
	place, pages := 0, 0
	for {
		place = r.ops[0].(Peeker).Peek(place, 2, out)
		pages++
		if place == 0 {
			break
		}
	}
	require.Equal(t, 2, pages)
	var got []string
	for i := range out.Results.N {
		got = append(got, r.result(out.Results, i, 0).String())
	}
	require.ElementsMatch(t, []string{
		"a [1,11) 1 3 ts=10 wm=<nil> firing=0 early", "b [5,15) 1 4 ts=14 wm=<nil> firing=0 early", "a [50,60) 1 6 ts=59 wm=<nil> firing=0 early",
	}, got)
	require.Len(t, r.advance(100), 3, "nothing has changed by looking")
}
