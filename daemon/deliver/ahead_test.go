package deliver

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/state"
)

// TestRowsGoOnWhileOthersAreWrittenAhead: the store is at the rows of a large checkpoint, and does not get on. Rows go on coming until memory is full; then
// whoever brings them waits, and goes on when the store does.
func TestRowsGoOnWhileOthersAreWrittenAhead(t *testing.T) {
	begun, goOn := make(chan struct{}, 100), make(chan struct{})
	store, err := state.Open("state", state.Options{FS: vfs.NewMem(), Hook: func(place string) {
		if place == "commit.begin" {
			begun <- struct{}{}
			<-goOn
		}
	}})
	require.NoError(t, err)
	sink := newFake(true)
	set := settings(store, sink)
	set.Memory = 100 << 10
	o := start(t, set)
	o.waitForWriter(t)
	var want []string
	bring := func() {
		row := fmt.Sprint(len(want), " ", strings.Repeat("x", 1000))
		require.NoError(t, o.Append(text(row)))
		want = append(want, row)
	}
	for len(begun) == 0 && o.Status().Memory <= 50<<10 {
		bring()
	}
	<-begun // half of the memory is full, and is being written
	for o.Status().Memory <= 90<<10 {
		bring()
	}
	more := make(chan struct{})
	go func() {
		defer close(more)
		for range 100 {
			bring()
		}
	}()
	for o.Status().Memory <= 100<<10 { // the last row before it waits
		select {
		case <-more:
			t.Fatal("nobody has waited for the store")
		default:
		}
	}
	select {
	case <-more:
		t.Fatal("nobody has waited for the store")
	default:
	}
	close(goOn)
	<-more
	commit(t, store, o)
	o.drain(t)
	require.Equal(t, want, sink.taken())
	o.stop(t)
	require.NoError(t, store.Close())
}

// fullDisk has no room while full is set.
type fullDisk struct {
	vfs.FS
	full atomic.Bool
}

func (d *fullDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	if d.full.Load() {
		return vfs.DiskUsage{TotalBytes: 1 << 30}, nil
	}
	return vfs.DiskUsage{AvailBytes: 1 << 30, TotalBytes: 1 << 30}, nil
}

// TestAFullDiskIsToldWhileRowsAreWrittenAhead: once when it is full, and once when it is not any more.
func TestAFullDiskIsToldWhileRowsAreWrittenAhead(t *testing.T) {
	disk := &fullDisk{FS: vfs.NewMem()}
	store, err := state.Open("state", state.Options{FS: disk})
	require.NoError(t, err)
	sink := newFake(true)
	set := settings(store, sink)
	clk := clock.NewVirtual(time.UnixMilli(0))
	set.Clock, set.Memory = clk, 100<<10
	said := make(chan error, 10)
	set.Full = func(err error) { said <- err }
	o := start(t, set)
	o.waitForWriter(t)
	disk.full.Store(true)
	var want []string
	for o.Status().Memory <= 60<<10 {
		row := fmt.Sprint(len(want), " ", strings.Repeat("x", 1000))
		require.NoError(t, o.Append(text(row)))
		want = append(want, row)
	}
	require.ErrorIs(t, <-said, state.NoSpace)
	disk.full.Store(false)
	require.Eventually(t, func() bool { // it may not have set its alarm yet
		clk.Advance(time.Second)
		return len(said) > 0
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, <-said)
	commit(t, store, o)
	o.drain(t)
	require.Equal(t, want, sink.taken())
	o.stop(t)
	require.NoError(t, store.Close())
}

// waitForWriter returns when Run writes rows ahead.
func (r *running) waitForWriter(t *testing.T) {
	require.NotNil(t, r.done)
	for {
		r.mu.Lock()
		writing, changed := r.writing, r.changed
		r.mu.Unlock()
		if writing {
			return
		}
		select {
		case <-changed:
		case err := <-r.done:
			require.NoError(t, err)
			t.Fatal("the outbox has ended")
		}
	}
}
