package state

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/clock"
)

// backlog is a database as the scheduler sees it: it has so many compactions to run, and runs them when it may.
type backlog struct {
	mu      sync.Mutex // as the database's: held when it calls TrySchedule
	allowed atomic.Int64
	left    int
	waiting bool
	running []pebble.CompactionGrantHandle
	asked   int // calls of GetWaitingCompaction
}

func (b *backlog) GetAllowedWithoutPermission() int { return int(b.allowed.Load()) }

func (b *backlog) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	b.waiting = b.waiting && b.left > 0
	return b.waiting, pebble.WaitingCompaction{}
}

func (b *backlog) Schedule(h pebble.CompactionGrantHandle) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting = b.waiting && b.left > 0; !b.waiting {
		return false
	}
	b.left--
	b.running = append(b.running, h)
	return true
}

// want is what the database does when it has something to compact.
func (b *backlog) want(s pebble.CompactionScheduler, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
	for b.left > 0 && !b.waiting {
		ok, h := s.TrySchedule()
		if !ok {
			b.waiting = true
			return
		}
		b.left--
		b.running = append(b.running, h)
	}
}

// finish ends the compaction that has run for longest.
func (b *backlog) finish() {
	b.mu.Lock()
	h := b.running[0]
	b.running = b.running[1:]
	b.mu.Unlock()
	h.Done()
}

// Compactions run as soon as they may, as many as may; while none waits nothing looks at the clock.
func TestCompactionsAreScheduled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backlog{}
		b.allowed.Store(1)
		s := newScheduler(clock.System())
		s.Register(2, b)
		b.want(s, 3)
		require.Len(t, b.running, 1)
		b.finish()
		require.Len(t, b.running, 1, "the end of one begins the next")
		require.Equal(t, 1, b.left)

		b.allowed.Store(2) // behind our back, as with a backlog that grows
		time.Sleep(2 * lookAgain)
		synctest.Wait()
		require.Len(t, b.running, 2)
		require.Zero(t, b.left)

		b.finish()
		b.finish()
		time.Sleep(2 * lookAgain)
		synctest.Wait()
		asked := b.asked
		time.Sleep(time.Hour)
		require.Equal(t, asked, b.asked, "nothing waits, nothing is asked")

		b.want(s, 1)
		require.Len(t, b.running, 1)
		b.finish()
		s.Unregister()
		b.want(s, 1)
		require.Empty(t, b.running, "the database is being closed")
	})
}

// However calls fall together, every compaction runs, never more than may, and none after Unregister.
func TestCompactionsOfManyAreAllScheduled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backlog{}
		b.allowed.Store(2)
		s := newScheduler(clock.System())
		s.Register(2, b)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					b.want(s, 1)
					time.Sleep(time.Millisecond)
				}
			})
		}
		ended := 0
		for ended < 200 {
			time.Sleep(time.Millisecond)
			b.mu.Lock()
			n := len(b.running)
			b.mu.Unlock()
			require.LessOrEqual(t, n, 2)
			for range n {
				b.finish()
				ended++
			}
		}
		wg.Wait()
		require.Zero(t, b.left)
		require.Zero(t, s.running)
		b.want(s, 3) // one waits, and is looked after
		s.Unregister()
		require.Len(t, b.running, 2)
	})
}
