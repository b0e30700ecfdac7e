package sdk

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"pgregory.net/rapid"
)

type seen struct {
	ID   int64  `tidemark:"id"`
	Name string `tidemark:"name"`
	Line string `tidemark:",raw"`
}

// witness writes down what it sees.
type witness struct {
	rows   []string
	panics bool
}

func (w *witness) ExtractTimestamp(e seen, previous int64) int64 {
	if w.panics {
		panic("I saw nothing")
	}
	w.rows = append(w.rows, fmt.Sprintf("%d %s %s %d", e.ID, e.Name, e.Line, previous))
	return e.ID * 10
}

func (w *witness) CurrentWatermark() Watermark { return NoWatermark }

// Batches with and without a selection, in any order, are seen and answered row for row; the batch keeps all that is its own.
func TestAnAssignerSeesTheSelectedRowsAndNoOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &witness{}
		p := NewPeriodicAssigner("witness", "", func(struct{}) (PeriodicAssigner[seen], error) { return w, nil })
		a, err := p.OpenAssigner(wire.AssignerOpen{EveryRecord: true}, wire.Runtime{})
		require.NoError(t, err)
		defer a.Close()
		require.NoError(t, a.AddPartition(0, "p", nil))
		for round := range rapid.IntRange(1, 6).Draw(t, "batches") {
			b := batch.Get()
			b.N, b.Trailer = rapid.IntRange(0, 9).Draw(t, "rows"), 1
			b.Offsets = append(b.Offsets, 0)
			for i := range b.N {
				b.Data = fmt.Appendf(b.Data, "line%d\n", i)
				b.Offsets = append(b.Offsets, uint32(len(b.Data)))
			}
			if rapid.Bool().Draw(t, "timed") {
				for i := range b.N {
					b.Times = append(b.Times, int64(i))
				}
			}
			timed := len(b.Times) == b.N && b.N > 0
			b.AddColumn("id")
			b.AddColumn("name")
			for i := range b.N {
				b.Column("id").SetInt(i, int64(100*round+i))
				b.SetText(b.Column("name"), i, batch.String, fmt.Sprint("n", i))
			}
			want := []string{}
			alive := []uint32{}
			for i := range b.N {
				if rapid.Bool().Draw(t, "alive") {
					alive = append(alive, uint32(i))
				}
			}
			if rapid.Bool().Draw(t, "selection") {
				b.Sel = append([]uint32{}, alive...)
			} else {
				alive = alive[:0]
				for i := range b.N {
					alive = append(alive, uint32(i))
				}
			}
			for _, i := range alive {
				previous := NoTimestamp
				if timed {
					previous = int64(i)
				}
				want = append(want, fmt.Sprintf("%d n%d line%d %d", 100*round+int(i), i, i, previous))
			}
			w.rows = []string{}
			require.NoError(t, a.Assign(b))
			_, err := a.Recv()
			require.NoError(t, err)
			require.Equal(t, want, w.rows)
			for _, i := range alive {
				require.Equal(t, int64(100*round+int(i))*10, b.Times[i])
			}
			for i := range b.N {
				require.EqualValues(t, 100*round+i, b.Column("id").Bits[i])
				require.Equal(t, fmt.Sprint("n", i), string(b.Text(b.Column("name").Bits[i])))
			}
			b.Release()
		}
	})
}

func TestAPanicOfAnAssignerIsAnError(t *testing.T) {
	p := NewPeriodicAssigner("witness", "", func(struct{}) (PeriodicAssigner[seen], error) { return &witness{panics: true}, nil })
	a, err := p.OpenAssigner(wire.AssignerOpen{}, wire.Runtime{})
	require.NoError(t, err)
	require.NoError(t, a.AddPartition(0, "p", nil))
	b := batch.Get()
	b.N = 1
	err = a.Assign(b)
	require.ErrorContains(t, err, "assigner witness: panic: I saw nothing")
	require.NotContains(t, err.Error(), "\n")
	require.ErrorContains(t, a.Assign(&batch.Batch{Partition: 3}), "was not told of partition 3")
	require.NoError(t, a.Close())
	_, err = a.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.ErrorIs(t, a.Barrier(1), io.ErrClosedPipe)
}

func TestWhatTheFactoryRefusesShowsWhenItIsOpened(t *testing.T) {
	p := NewPeriodicAssigner("witness", "", func(struct{}) (PeriodicAssigner[seen], error) { return nil, errors.New("not today") })
	_, err := p.OpenAssigner(wire.AssignerOpen{}, wire.Runtime{})
	require.ErrorContains(t, err, "not today")
}

func TestAStateThatCannotBeRestoredIsAnError(t *testing.T) {
	p := NewPeriodicAssigner("witness", "", func(struct{}) (PeriodicAssigner[seen], error) { return &witness{}, nil })
	a, err := p.OpenAssigner(wire.AssignerOpen{}, wire.Runtime{})
	require.NoError(t, err)
	defer a.Close()
	require.ErrorContains(t, a.AddPartition(0, "p", []byte("old")), `partition "p" has a snapshot, but assigner witness cannot restore one`)
}
