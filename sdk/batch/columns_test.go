package batch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeepColumnsOrdersAndDrops(t *testing.T) {
	b := Get()
	b.N = 2
	for i, name := range []string{"a", "b", "c", "d"} {
		c := b.AddColumn(name)
		c.SetInt(0, int64(i))
		c.SetInt(1, int64(-i))
	}
	fork := b.Fork()
	fork.KeepColumns([]int{3, 0})
	fork.AddColumn("new").SetInt(0, 99) // must not be written into memory that b still uses
	b.KeepColumns([]int{2, 1})
	require.Equal(t, []string{"c", "b"}, []string{b.Columns[0].Name, b.Columns[1].Name})
	require.EqualValues(t, 2, b.Columns[0].Bits[0])
	require.EqualValues(t, 1, b.Columns[1].Bits[0])
	require.Equal(t, []string{"d", "a", "new"}, []string{fork.Columns[0].Name, fork.Columns[1].Name, fork.Columns[2].Name})
	require.EqualValues(t, 3, fork.Columns[0].Bits[0])
	require.EqualValues(t, 0, fork.Columns[1].Bits[0])
	b.KeepColumns(nil)
	require.Empty(t, b.Columns)
}

func TestKeepColumnsUsesMemoryAgain(t *testing.T) {
	b := Get()
	b.N = 1000
	b.AddColumn("a")
	b.AddColumn("b")
	require.Zero(t, testing.AllocsPerRun(10, func() {
		b.AddColumn("c")
		b.KeepColumns([]int{2, 0, 1})
		b.KeepColumns([]int{1, 2})
	}))
}
