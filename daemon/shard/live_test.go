package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/window"
)

// slowCount is an operator that takes 10 ms to say how much it holds.
type slowCount struct {
	window.Operator
	clock *clock.Virtual
	held  int
	asked int
}

func (o *slowCount) Live() int {
	o.asked++
	o.clock.Advance(10 * time.Millisecond)
	return o.held
}

// Results that wait bring barriers in quick succession. Counting what is held must not become the main thing that a shard does.
func TestCountingTakesNoMoreThanAHundredthOfTheTime(t *testing.T) {
	virtual := clock.NewVirtual(time.Unix(0, 0))
	op := &slowCount{clock: virtual, held: 7}
	w := &worker{stage: &Stage{cfg: Config{Clock: virtual}}, op: op}
	for range 20_000 { // 20 s of barriers
		w.countLive()
		virtual.Advance(time.Millisecond)
	}
	require.InDelta(t, 20, op.asked, 2)
	require.EqualValues(t, 7, w.counts.Live.Load())

	op.held = 0
	w.countLive()
	require.EqualValues(t, 7, w.counts.Live.Load(), "a moment ago")
	w.ended = true
	w.countLive()
	require.Zero(t, w.counts.Live.Load(), "what is said at the end is true")
}
