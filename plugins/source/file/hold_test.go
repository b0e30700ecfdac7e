package file

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/source/sourcetest"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Two large files; the first is held as soon as it is known, when the source can have made no more than a few batches. The other one is read to its end meanwhile, and then the first goes on. What had
// been read of it before it was held is the beginning of it, and far from all: the source does not read on, and forgets nothing.
func TestAHeldFileIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	ahead, behind := filepath.Join(dir, "ahead"), filepath.Join(dir, "behind")
	put(t, ahead, numbered("a record of the file that is ahead ", 1, 200_000))
	put(t, behind, numbered("a record of the file that is behind ", 1, 200_000))
	options, err := json.Marshal(paths(ahead, behind))
	require.NoError(t, err)
	source, err := Plugin().OpenSource(wire.SourceOpen{Options: options, Framing: wire.Framing{Format: "lines"}}, wire.Runtime{})
	require.NoError(t, err)
	defer source.Close()
	rows, ended := map[uint32][]string{}, map[uint32]bool{}
	next := func() wire.SourceEvent {
		e, err := source.Recv()
		require.NoError(t, err)
		if e.Batch != nil {
			for i := range e.Batch.N {
				rows[e.Partition] = append(rows[e.Partition], string(e.Batch.Row(i)))
			}
			e.Batch.Release()
		}
		ended[e.Partition] = ended[e.Partition] || e.Kind == wire.PartitionEnded
		return e
	}
	require.Equal(t, ahead, next().Name)
	require.NoError(t, source.(wire.Holder).Hold(0, true))
	for !ended[1] {
		next()
	}
	require.Less(t, len(rows[0]), 100_000, "what had been read before the hold is a few batches")
	require.NoError(t, source.(wire.Holder).Hold(0, false))
	for next().Kind != wire.SourceEnded {
	}
	require.Equal(t, split(numbered("a record of the file that is ahead ", 1, 200_000)), rows[0])
	require.Equal(t, split(numbered("a record of the file that is behind ", 1, 200_000)), rows[1])
}

// Of more files than are read side by side all that are open are held: the one that they wait for may be among the others.
func TestHeldFilesDoNotKeepTheOthersFromBeingOpened(t *testing.T) {
	part := func(held bool) *job { return &job{g: &generation{}, held: func() bool { return held }} }
	jobs := []*job{part(true), part(true), part(false)}
	best, held := least(jobs, 2)
	require.Same(t, jobs[2], best)
	require.False(t, held)
	best, held = least(jobs, 1)
	require.Nil(t, best, "one after the other means that")
	require.True(t, held)
	jobs[0].g.ended, jobs[1].g.ended, jobs[2].g.ended = true, true, true
	best, held = least(jobs, 2)
	require.Nil(t, best)
	require.False(t, held)
}

func TestAHeldFileIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put(t, a, "a1\n")
	put(t, b, "b1\n")
	r := following(t, paths(filepath.Join(dir, "*")))
	r.UntilRows(2)
	r.Hold(a, true)
	grow(t, b, "b2\n")
	r.Until("b2", func(r *sourcetest.Run) bool { return len(r.Of(b).Rows) == 2 })
	grow(t, a, "a2\n") // a look at a that was under way when it was held is over
	grow(t, b, "b3\n")
	r.Until("b3", func(r *sourcetest.Run) bool { return len(r.Of(b).Rows) == 3 })
	require.NotContains(t, r.Rows(), "a2")
	r.Hold(a, false)
	r.Until("a2", func(r *sourcetest.Run) bool { return len(r.Of(a).Rows) == 2 })
}
