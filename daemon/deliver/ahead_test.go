package deliver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

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
