package wire

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// What a transform plugin makes of a record is known by the place of that record, also where rows were taken out before.
func TestTransformedRowsStandWhereTheirRecordsStood(t *testing.T) {
	in := batch.Get()
	defer in.Release()
	in.N, in.Unit, in.Base = 3, batch.ByteOffset, 100
	in.Data, in.Offsets = []byte("aa\nbbb\nc\n"), []uint32{0, 3, 7, 9}
	in.Times = []int64{1, 2, 3}
	in.Sel = []uint32{1, 2}
	out := batch.Get()
	defer out.Release()
	out.N = 3
	ApplyTransformed(in, out, []uint32{0, 0, 1}, nil)
	require.Equal(t, []int64{2, 2, 3}, out.Times)
	for i, want := range []int64{103, 103, 107} {
		require.Equal(t, want, out.RowPosition(i))
	}
}
