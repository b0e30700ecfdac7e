package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

func TestWindowsGoToAPluginInPiecesOfABoundedSize(t *testing.T) {
	b := batch.Get()
	b.N = 6
	b.Times = []int64{0, 1, 2, 3, 4, 5}
	b.Marks = []batch.Mark{{After: 0, Watermark: 10}, {After: 3, Watermark: 20}, {After: 6, Watermark: 30}}
	b.Before = 5
	sizes := []int{1, 2, 9, 1, 1, 1}
	pieces := inPieces(b, func(row uint32) int { return sizes[row] }, 3)
	var rows [][]uint32
	var marks [][]batch.Mark
	var before []int64
	for _, p := range pieces {
		rows, marks, before = append(rows, p.Sel), append(marks, p.Marks), append(before, p.Before)
		p.Release()
	}
	require.Equal(t, [][]uint32{{0, 1}, {2}, {3, 4, 5}}, rows, "a row that is larger than a piece goes alone")
	require.Equal(t, [][]batch.Mark{{{After: 0, Watermark: 10}}, {}, {{After: 3, Watermark: 20}, {After: 6, Watermark: 30}}}, marks, "marks stand between the same rows")
	require.Equal(t, []int64{5, 10, 10}, before)

	whole := batch.Get()
	whole.N = 3
	require.Equal(t, []*batch.Batch{whole}, inPieces(whole, func(uint32) int { return 1 }, 3), "what fits is not cut")
	whole.Release()
}
