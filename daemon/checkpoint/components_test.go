package checkpoint

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

func TestChangesAreClassed(t *testing.T) {
	count := Component{Kind: StageComponent, Operator: 1, Shape: "tumbling 5000 user count", Words: "tumbling 5s by user: count()"}
	sum := Component{Kind: StageComponent, Operator: 1, Shape: "tumbling 5000 user sum", Words: "tumbling 5s by user: sum(v)"}
	file := Component{Kind: SourceComponent, Shape: "file", Words: "file"}
	worded := count
	worded.Words = "the same in other words"
	for name, c := range map[string]struct {
		before, after map[string]Component
		want          Class
		why           string
		consent       bool
	}{
		"same":          {map[string]Component{"x": count}, map[string]Component{"x": worded}, Keeps, "unchanged", false},
		"new":           {nil, map[string]Component{"x": count}, New, "starts from nothing", false},
		"another shape": {map[string]Component{"x": count}, map[string]Component{"x": sum}, Resets, `"tumbling 5s by user: count()"`, true},
		"another kind":  {map[string]Component{"x": file}, map[string]Component{"x": sum}, Resets, "it was a source and is a stage now", true},
		"removed":       {map[string]Component{"x": count}, nil, Removed, "is dropped", true},
	} {
		t.Run(name, func(t *testing.T) {
			changes := Compare(c.before, c.after)
			require.Len(t, changes, 1)
			require.Equal(t, c.want, changes[0].Class)
			require.Contains(t, changes[0].Why(), c.why)
			err := Refuse("state", changes, nil)
			require.Equal(t, c.consent, err != nil)
			if err != nil {
				require.ErrorIs(t, err, state.Incompatible)
				require.ErrorContains(t, err, "--allow-reset x")
			}
			require.NoError(t, Refuse("state", changes, []string{"x"}))
		})
	}
}

func TestResetDropsThatComponentsStateAndNoOther(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	a := Component{Kind: StageComponent, Operator: 1, Shape: "a"}
	b := Component{Kind: StageComponent, Operator: 2, Shape: "b"}
	src := Component{Kind: SourceComponent, Shape: "file"}
	out := Component{Kind: SinkComponent, Shape: "file"}
	before := map[string]Component{"a": a, "b": b, "clicks": src, "out": out, "other": out}

	var d state.Delta
	empty := &State{Components: map[string]Component{}, Snapshot: newSnapshot()}
	Apply(&d, empty, Compare(nil, before))
	d.Set(1, 0, 0, []byte("k"), []byte("of a"))
	d.Set(2, 0, 0, []byte("k"), []byte("of b"))
	d.Put(keys.Run("outbox").Text("out").Number(1), []byte("rows"))
	d.Put(keys.Run("outbox").Text("other").Number(1), []byte("rows"))
	_, err := store.Commit(bg, &d)
	require.NoError(t, err)
	snapshot := clicks("42")
	snapshot.Stages = map[string]Stage{"a": {Watermark: 1}, "b": {Watermark: 2}}
	snapshot.Sources["more"] = Source{Partitions: map[string]Partition{}}
	l, _ := openLog(t, store, clock.NewVirtual(epoch))
	_, err = l.Commit(bg, &Cut{Snapshot: snapshot})
	require.NoError(t, err)

	s, err := Read(store)
	require.NoError(t, err)
	require.Equal(t, before, s.Components)
	changed := a
	changed.Shape = "a, changed"
	after := map[string]Component{"a": changed, "b": b, "other": out}
	d.Reset()
	Apply(&d, s, Compare(s.Components, after))
	_, err = store.Commit(bg, &d)
	require.NoError(t, err)

	_, read := openLog(t, store, clock.NewVirtual(epoch))
	require.Equal(t, s.Snapshot, read.Snapshot)
	require.Equal(t, after, read.Components)
	require.Equal(t, map[string]Stage{"b": {Watermark: 2}}, read.Snapshot.Stages)
	require.Contains(t, read.Snapshot.Sources, "more")
	require.NotContains(t, read.Snapshot.Sources, "clicks")
	_, found, err := store.Get(1, 0, 0, []byte("k"))
	require.NoError(t, err)
	require.False(t, found)
	_, found, err = store.Get(2, 0, 0, []byte("k"))
	require.NoError(t, err)
	require.True(t, found)
	v, err := store.Meta(keys.Run("outbox").Text("out").Number(1))
	require.NoError(t, err)
	require.Nil(t, v)
	v, err = store.Meta(keys.Run("outbox").Text("other").Number(1))
	require.NoError(t, err)
	require.NotNil(t, v)
}

// The first commit after a reset holds both the removal and the new records, which may be the same, byte for byte, as the removed ones.
func TestResetAndNewRecordsShareACommit(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	file := Component{Kind: SourceComponent, Shape: "file"}
	other := Component{Kind: SourceComponent, Shape: "other"}
	l, s := openLog(t, store, clock.NewVirtual(epoch))
	var first state.Delta
	Apply(&first, s, Compare(nil, map[string]Component{"clicks": file}))
	_, err := l.Commit(bg, &Cut{Snapshot: clicks("42"), Deltas: []*state.Delta{&first}})
	require.NoError(t, err)

	l, s = openLog(t, store, clock.NewVirtual(epoch))
	first.Reset()
	Apply(&first, s, Compare(s.Components, map[string]Component{"clicks": other}))
	require.Empty(t, s.Snapshot.Sources)
	var shard state.Delta
	shard.Set(1, 0, 0, []byte("k"), []byte("v"))
	_, err = l.Commit(bg, &Cut{Snapshot: clicks("42"), Deltas: []*state.Delta{&first, &shard}})
	require.NoError(t, err)
	read, err := Read(store)
	require.NoError(t, err)
	require.Equal(t, clicks("42"), read.Snapshot)
	require.Equal(t, other, read.Components["clicks"])
}

// A step's plugin may keep something or not, which only its first state tells. What it keeps belongs to it, and is dropped with consent only.
func TestTheStateOfAStepsPlugin(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	stateless := Compare(nil, map[string]Component{"step": Transform("plain")})
	require.Equal(t, New, stateless[0].Class)
	require.Contains(t, stateless[0].Why(), "nothing of its plugin's")
	require.False(t, stateless[0].Writes(), "nothing is noted of it")

	var d state.Delta
	d.Put(TransformName("step"), Owned("counting", []byte("42")))
	_, err := store.Commit(bg, &d)
	require.NoError(t, err)
	s, err := Read(store)
	require.NoError(t, err)
	require.Equal(t, map[string]Component{"step": Transform("counting")}, s.Components)

	keeps := Compare(s.Components, map[string]Component{"step": Transform("counting")})
	require.Equal(t, Keeps, keeps[0].Class)
	for what, after := range map[string]map[string]Component{
		"another plugin": {"step": Transform("other")},
		"no step":        {},
		"a window":       {"step": {Kind: StageComponent, Operator: 1, Shape: "a"}},
	} {
		s, err := Read(store)
		require.NoError(t, err)
		changes := Compare(s.Components, after)
		require.ErrorContains(t, Refuse("state", changes, nil), "--allow-reset step", what)
		d.Reset()
		Apply(&d, s, changes)
		_, err = store.Commit(bg, &d)
		require.NoError(t, err)
		s, err = Read(store)
		require.NoError(t, err)
		_, there := s.Components["step"]
		require.Equal(t, what == "a window", there, what)

		d.Reset()
		d.Remove(name(kindComponent, "step"))
		d.Put(TransformName("step"), Owned("counting", []byte("42")))
		_, err = store.Commit(bg, &d)
		require.NoError(t, err)
	}
}
