package pipeline

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// branchFunc prepares batches with a function.
type branchFunc func(b *batch.Batch) prepared

func (f branchFunc) prepare(b *batch.Batch, out []prepared) []prepared { return append(out, f(b)) }

type sendFunc func() error

func (f sendFunc) send() error { return f() }

// TestLargeResultsArePreparedSideBySideAndSentInOrder: the first batch is ready only when another worker is at the second one, and everything goes out in the
// order in which it came, late rows, idleness and barriers too.
func TestLargeResultsArePreparedSideBySideAndSentInOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log []string
	second := make(chan struct{})
	reader := branchFunc(func(b *batch.Batch) prepared {
		n := b.Times[0]
		switch n {
		case 0:
			<-second
		case 1:
			close(second)
		}
		b.Release()
		return sendFunc(func() error {
			log = append(log, fmt.Sprint("results ", n))
			return nil
		})
	})
	newPort := func() *port { return &port{branches: []branch{reader}, ends: []terminal{logEnd{&log}}} }
	pool := newPool(2)
	group, inner := errgroup.WithContext(ctx)
	for i := range pool.workers {
		group.Go(func() error { return pool.run(inner, i) })
	}
	s := &stageOutput{
		main: newPort(), workers: []*port{newPort(), newPort()}, pool: pool, ctx: ctx, latePort: &port{},
		late: func(*batch.Batch, []uint32, int64) error {
			log = append(log, "late")
			return nil
		},
	}
	next := int64(0)
	results := func(rows int) {
		b := batch.Get()
		b.Grow(rows)
		b.Times[0] = next
		next++
		require.NoError(t, s.Results(b))
	}
	for range 6 {
		results(manyResults)
	}
	require.NoError(t, s.Late(nil, nil, 0))
	results(manyResults)
	results(1)
	results(manyResults)
	require.NoError(t, s.Barrier(7))
	results(manyResults)
	require.NoError(t, s.Idle(true))
	results(manyResults)
	require.NoError(t, s.Flush())
	require.Equal(t, []string{
		"results 0", "results 1", "results 2", "results 3", "results 4", "results 5", "late", "results 6", "results 7", "results 8", "barrier 7", "results 9",
		"idle true", "results 10",
	}, log)
	cancel()
	require.NoError(t, group.Wait())
}

// logEnd writes down what comes to the end of a port.
type logEnd struct{ log *[]string }

func (e logEnd) idle(idle bool) error {
	*e.log = append(*e.log, fmt.Sprint("idle ", idle))
	return nil
}

func (e logEnd) barrier(id uint64) error {
	*e.log = append(*e.log, fmt.Sprint("barrier ", id))
	return nil
}
