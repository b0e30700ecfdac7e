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

// A valve that goes on with other inputs: those that stay keep what they said, a new one holds the output until it speaks, one that has
// gone holds nothing any more.
func TestValveGoesOnWithOtherInputs(t *testing.T) {
	before := NewValve(2, 1, 0)
	before.Watermark(0, 10, nil)
	before.Watermark(1, 20, nil)
	require.EqualValues(t, 10, before.Current())
	snapshot := before.Snapshot(nil)

	more := NewValve(3, 1, 0) // a new one, and the two in the other order
	require.NoError(t, more.RestoreInputs(snapshot, []int{-1, 1, 0}))
	require.EqualValues(t, 10, more.Current())
	require.Empty(t, more.Watermark(2, 30, nil), "the new input has said nothing")
	require.Equal(t, []Event{{Kind: Rise, Watermark: 15}}, more.Watermark(0, 15, nil))
	require.Equal(t, []Event{{Kind: Rise, Watermark: 20}}, more.Watermark(0, 40, nil))

	fewer := NewValve(1, 1, 0)
	require.NoError(t, fewer.RestoreInputs(snapshot, []int{1}))
	require.EqualValues(t, 10, fewer.Current())
	require.Equal(t, []Event{{Kind: Rise, Watermark: 25}}, fewer.Watermark(0, 25, nil))

	before.Idle(0, nil)
	before.Idle(1, nil)
	require.True(t, before.IsIdle())
	require.NoError(t, more.RestoreInputs(before.Snapshot(nil), []int{0, 1, -1}))
	require.False(t, more.IsIdle())

	require.ErrorIs(t, fewer.RestoreInputs(snapshot, []int{2}), ErrSnapshot)
	require.EqualValues(t, 25, fewer.Current(), "nothing has changed")
}
