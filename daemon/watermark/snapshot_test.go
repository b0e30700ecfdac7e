package watermark

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Samples of every version that has been stored. They must open for ever; a new version adds samples and leaves these alone.
const (
	partitionsV1 = "01" + "20" + "00" + "03" + "01" + "01" + "20" + "07" + "03" + "ffffffffffffffffff01" + "08" + "05" + "28"
	valveV1      = "01" + "0e" + "02" + "02" + "0a" + "0e" + "0a" + "04"
	jumpV1       = "0101000a040001a01f032c06000105323030300a03047465787406043230303005657874726106057432303030066e756d62657203d00f" // three rows that have passed, and one of 2000 ms that is held
)

func TestStoredSnapshotsOpen(t *testing.T) {
	open := func(sample string) []byte {
		raw, err := hex.DecodeString(sample)
		require.NoError(t, err)
		return raw
	}
	p := NewPartitions(PartitionsSettings{})
	require.NoError(t, p.Restore(open(partitionsV1), 0))
	require.EqualValues(t, 16, p.Watermark())
	require.False(t, p.IsIdle())
	type known struct {
		id        uint32
		state     State
		watermark int64
	}
	var got []known
	for _, s := range p.Status(nil) {
		got = append(got, known{s.Partition, s.State, s.Watermark})
	}
	require.Equal(t, []known{{1, StateActive, 16}, {7, StateIdle, batch.NoWatermark}, {8, StateEnded, 20}}, got)
	require.Equal(t, open(partitionsV1), p.Snapshot(nil))

	v := NewValve(2, 0, 0)
	require.NoError(t, v.Restore(open(valveV1)))
	require.EqualValues(t, 7, v.Current())
	require.True(t, v.IsIdle())
	require.Equal(t, open(valveV1), v.Snapshot(nil))

	g := NewJumpGuard(JumpSettings{Span: 100})
	require.NoError(t, g.Restore(open(jumpV1)))
	require.Equal(t, 1, g.Held())
	require.Equal(t, open(jumpV1), g.Snapshot(nil))
	require.Equal(t, "!2000@3", flow(t, g.EndAll(nil)))
}

func TestWhatIsNoSnapshotIsRefused(t *testing.T) {
	p, v, g := NewPartitions(PartitionsSettings{}), NewValve(2, 0, 0), NewJumpGuard(JumpSettings{Span: 1})
	for _, bad := range []string{"", "00", "02", "01", "0120000301", "01200001010120ff", "0120000201012001012000"} {
		raw, err := hex.DecodeString(bad)
		require.NoError(t, err)
		require.ErrorIs(t, p.Restore(raw, 0), ErrSnapshot, bad)
		require.Error(t, v.Restore(raw), bad)
		require.Error(t, g.Restore(raw), bad)
	}
	require.Zero(t, p.Len())
	require.ErrorContains(t, v.Restore([]byte{1, 0, 0, 3, 0, 0, 0, 0, 0, 0}), "3 inputs, this one has 2")
}
