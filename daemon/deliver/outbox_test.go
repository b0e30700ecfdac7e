package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state"
)

func TestRowsAreDeliveredAfterTheirCommit(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	sink := newFake(true)
	o := start(t, settings(store, sink))
	require.NoError(t, o.Append(text("a", "b")))
	require.NoError(t, o.Append(text("c")))
	require.Equal(t, Status{Next: 4, Waiting: 3, Bytes: o.Status().Bytes, Memory: o.Status().Memory}, o.Status())
	require.Empty(t, sink.taken())
	commit(t, store, o)
	o.drain(t)
	require.Equal(t, []string{"a", "b", "c"}, sink.taken())
	require.EqualValues(t, 3, sink.last)
	require.Zero(t, o.Status().Bytes)
	o.stop(t)
}

func TestAtLeastOnceDeliversAtOnce(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	sink := newFake(false)
	set := settings(store, sink)
	set.ExactlyOnce = false
	o := start(t, set)
	require.NoError(t, o.Append(text("a", "b")))
	o.drain(t)
	require.Equal(t, []string{"a", "b"}, sink.taken())

	// What the sink has not taken at a commit is in it: the sources' positions move past these rows.
	sink.hold = make(chan struct{})
	require.NoError(t, o.Append(text("c")))
	commit(t, store, o)
	o.stop(t)
	sink.hold = nil
	o = start(t, set)
	o.drain(t)
	require.Equal(t, []string{"a", "b", "c"}, sink.taken())
	o.stop(t)
}

func TestColumnsSurviveARestart(t *testing.T) {
	disk := vfs.NewMem()
	store := openStore(t, disk)
	sink := newFake(true)
	sink.hold = make(chan struct{})
	o := start(t, settings(store, sink))
	require.NoError(t, o.Append(columns("a", "bb")))
	commit(t, store, o)
	o.stop(t)
	require.NoError(t, store.Close())

	store = openStore(t, disk)
	defer store.Close()
	sink.hold = nil
	o = start(t, settings(store, sink))
	o.drain(t)
	require.Equal(t, []string{"a", "bb"}, sink.taken())
	o.stop(t)
}

func TestAFailingSinkIsTriedAgainWithGrowingPauses(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	for name, late := range map[string]bool{"rows not taken": false, "rows taken, answer lost": true} {
		sink := newFake(true)
		sink.late = late
		sink.script = []error{errAway, errAway, &wire.SinkError{Message: "busy", After: 7 * time.Second}, errAway, errAway, nil}
		clk := newHasty()
		set := settings(store, sink)
		set.Name = name
		set.Clock = clk
		set.Retry = Retry{Backoff: 100 * time.Millisecond, MaxBackoff: time.Second}
		o := start(t, set)
		require.NoError(t, o.Append(text("a")))
		commit(t, store, o)
		o.drain(t)
		require.Equal(t, []string{"a"}, sink.taken())
		require.Equal(t, []time.Duration{75 * time.Millisecond, 150 * time.Millisecond, 7 * time.Second, 600 * time.Millisecond, 750 * time.Millisecond}, clk.pauses)
		require.Zero(t, o.Status().Failures)
		o.stop(t)
	}
}

func TestEndings(t *testing.T) {
	for name, c := range map[string]struct {
		script []error
		want   string
	}{
		"permanent": {[]error{&wire.SinkError{Message: "no such table", Permanent: true}}, "no such table"},
		"broken":    {[]error{errors.New("plugin exited")}, "broken: plugin exited"},
		"too often": {[]error{errAway, errAway, errAway}, "3 failures in a row"},
	} {
		store := openStore(t, vfs.NewMem())
		sink := newFake(true)
		sink.script = c.script
		set := settings(store, sink)
		set.Retry.Attempts = 3
		o := start(t, set)
		require.NoError(t, o.Append(text("a")))
		commit(t, store, o)
		err := <-o.done
		require.ErrorContains(t, err, c.want, name)
		o.cancel()
		// The rows are still there.
		o = start(t, settings(store, sink))
		o.drain(t)
		require.Equal(t, []string{"a"}, sink.taken())
		o.stop(t)
		require.NoError(t, store.Close())
	}
}

func TestATryThatTakesTooLongIsOneThatFailed(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	sink := newFake(true)
	sink.hold = make(chan struct{})
	clk := clock.NewVirtual(time.UnixMilli(0))
	set := settings(store, sink)
	set.Clock = clk
	set.Retry.Timeout = time.Minute
	o := start(t, set)
	require.NoError(t, o.Append(text("a")))
	commit(t, store, o)
	require.Eventually(t, func() bool {
		clk.Advance(time.Minute)
		return o.Status().Failures > 1
	}, 10*time.Second, time.Millisecond)
	require.ErrorContains(t, o.Status().Error, "has not answered in time (1m0s)")
	require.False(t, o.Status().FailingSince.IsZero())
	close(sink.hold)
	require.Eventually(t, func() bool {
		clk.Advance(time.Minute)
		return o.Status().Taken == 1
	}, 10*time.Second, time.Millisecond)
	o.stop(t)
}

func TestOnePoisonRow(t *testing.T) {
	for name, block := range map[string]bool{"named by the sink": false, "the whole delivery refused": true} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t, vfs.NewMem())
			defer store.Close()
			sink := newFake(true)
			sink.poison, sink.block = "poison", block
			var refused refusals
			set := settings(store, sink)
			set.BatchRows = 100
			set.Refused = refused.take
			o := start(t, set)
			var want []string
			for i := 1; i <= 1000; i++ {
				row := fmt.Sprint("id ", i)
				if i == 500 {
					row += " poison"
				} else {
					want = append(want, row)
				}
				require.NoError(t, o.Append(text(row)))
			}
			commit(t, store, o)
			o.drain(t)
			require.Equal(t, want, sink.taken())
			require.Equal(t, []string{"500 id 500 poison"}, refused.rows)
			require.Less(t, sink.calls, 40)
			o.stop(t)
			o = start(t, set)
			o.drain(t)
			require.Equal(t, want, sink.taken())
			o.stop(t)
		})
	}
}

func TestAStuckSinkCostsDiskAndNotMemory(t *testing.T) {
	disk := vfs.NewMem()
	store := openStore(t, disk)
	defer store.Close()
	sink := newFake(true)
	sink.hold = make(chan struct{})
	set := settings(store, sink)
	set.Budget = NewBudget(1 << 20)
	set.Memory = 100 << 10
	o := start(t, set)
	var want []string
	for i := 0; set.Budget.Used() <= 1<<20; i++ {
		row := fmt.Sprint(i, " ", strings.Repeat("x", 1000))
		require.NoError(t, o.Append(text(row)))
		want = append(want, row)
		if i%50 == 0 {
			commit(t, store, o)
		}
		require.LessOrEqual(t, o.Status().Memory, int64(200<<10))
	}
	commit(t, store, o)
	require.LessOrEqual(t, o.Status().Memory, int64(200<<10))
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	require.ErrorIs(t, set.Budget.Wait(ctx), context.DeadlineExceeded)
	cancel()

	waited := make(chan error, 1)
	go func() { waited <- set.Budget.Wait(bg) }()
	close(sink.hold)
	require.NoError(t, <-waited)
	o.drain(t)
	require.Equal(t, want, sink.taken())
	require.Zero(t, set.Budget.Used())
	o.stop(t)
}

func TestOneCheckpointLargerThanMemory(t *testing.T) {
	disk := vfs.NewMem()
	store := openStore(t, disk)
	sink := newFake(true)
	set := settings(store, sink)
	set.Memory = 50 << 10
	o := start(t, set)
	var want []string
	for i := range 500 {
		row := fmt.Sprint(i, " ", strings.Repeat("x", 1000))
		require.NoError(t, o.Append(text(row)))
		want = append(want, row)
		require.LessOrEqual(t, o.Status().Memory, int64(150<<10))
	}
	require.Empty(t, sink.taken())
	o.stop(t) // before the commit: nothing of this was ever true
	require.NoError(t, store.Close())

	store = openStore(t, disk)
	o = start(t, Settings{Name: "out", Sink: sink, ExactlyOnce: true, Store: store, Clock: newHasty(), Memory: 50 << 10})
	require.EqualValues(t, 1, o.Status().Next)
	require.Empty(t, recordNames(t, store))
	for _, row := range want {
		require.NoError(t, o.Append(text(row)))
	}
	commit(t, store, o)
	o.drain(t)
	require.Equal(t, want, sink.taken())
	o.stop(t)
	require.NoError(t, store.Close())
}

func TestAStateOlderThanItsSinkIsRefused(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	sink := newFake(true)
	sink.last = 5
	_, err := Open(bg, settings(store, sink))
	require.ErrorIs(t, err, state.Incompatible)
	require.ErrorContains(t, err, "holds rows up to number 5, but the state knows of 0 only")

	// Delivered before the commit, that is what a crash looks like: the rows come again, under numbers that the sink does not know.
	set := settings(store, sink)
	set.ExactlyOnce = false
	o := start(t, set)
	require.NoError(t, o.Append(text("again")))
	o.drain(t)
	require.Equal(t, map[uint64]string{6: "again"}, sink.rows)
	o.stop(t)
}

func TestTheStoreForgetsWhatWasTaken(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	sink := newFake(true)
	o := start(t, settings(store, sink))
	for i := range 20 {
		require.NoError(t, o.Append(text(fmt.Sprint(i))))
		commit(t, store, o)
	}
	o.drain(t)
	commit(t, store, o)
	require.Equal(t, []string{string(sinkName("out"))}, recordNames(t, store))
	o.stop(t)
}

func TestPauses(t *testing.T) {
	r := Retry{Backoff: time.Second, MaxBackoff: 10 * time.Second}
	for _, c := range []struct {
		n      int
		asked  time.Duration
		jitter float64
		want   time.Duration
	}{
		{1, 0, 0, 500 * time.Millisecond},
		{1, 0, 1, time.Second},
		{3, 0, 1, 4 * time.Second},
		{5, 0, 1, 10 * time.Second},
		{1 << 30, 0, 0, 5 * time.Second},
		{1, time.Minute, 0, time.Minute},
	} {
		require.Equal(t, c.want, r.pause(c.n, c.asked, c.jitter), "%+v", c)
	}
}

// A stop waits for a sink that works, and not for one that fails.
func TestAStopDoesNotWaitForASinkThatFails(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	sink := newFake(true)
	down := &wire.SinkError{Message: "down"}
	sink.script = []error{down, down}
	set := settings(store, sink)
	set.Clock = clock.System()
	set.Retry = Retry{Backoff: time.Hour, MaxBackoff: time.Hour}
	o := start(t, set)
	require.NoError(t, o.Append(text("a", "b")))
	commit(t, store, o)

	hurry := make(chan struct{})
	close(hurry)
	left, err := o.Settle(bg, hurry)
	require.NoError(t, err)
	require.EqualValues(t, 2, left)
	o.stop(t)

	// The next run brings them; with a sink that works a hurry changes nothing.
	sink.script = nil
	o = start(t, set)
	left, err = o.Settle(bg, hurry)
	require.NoError(t, err)
	require.Zero(t, left)
	require.Equal(t, []string{"a", "b"}, sink.taken())
	o.stop(t)
}

func TestANumberThatNoRowCanHave(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	sink := newFake(true)
	sink.last = 1<<64 - 1
	set := settings(store, sink)
	for _, set.ExactlyOnce = range []bool{true, false} {
		_, err := Open(bg, set)
		require.ErrorIs(t, err, state.Incompatible)
		require.ErrorContains(t, err, "which no row can have been given")
	}
}
