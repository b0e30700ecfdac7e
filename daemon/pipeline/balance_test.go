package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

func TestBalance(t *testing.T) {
	part := func(name string, rows int64) pipeline.BalancePart {
		return pipeline.BalancePart{Name: name, Rows: rows}
	}
	b := pipeline.Balance{Component: "clicks", Kind: "source", In: 5, Parts: []pipeline.BalancePart{part("passed on", 3), part("rejected", 2), part("markers", 0)}}
	require.Equal(t, "source clicks: 5 in = 3 passed on + 2 rejected", b.String())
	s := pipeline.Summary{Balance: []pipeline.Balance{b}}
	require.NoError(t, s.Check())

	b.In = 6
	s.Balance = append(s.Balance, b)
	require.EqualError(t, s.Check(), "the balance of source clicks: 6 in = 3 passed on + 2 rejected does not close: that is 5")

	s.Balance = []pipeline.Balance{{Component: "w", Kind: "window", In: 1, Parts: []pipeline.BalancePart{part("windowed", -1), part("late", 2)}}}
	require.ErrorContains(t, s.Check(), "1 rows too few")

	s.Restarts = 1 // an attempt's account is its own
	require.Error(t, s.Check())
}
