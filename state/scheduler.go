package state

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-stream/tidemark/daemon/clock"
)

// lookAgain is how often a database that wants to compact, and may not, is asked whether it may by now.
const lookAgain = 100 * time.Millisecond

// scheduler lets a database compact as much as it says it may (CompactionConcurrencyRange). It does what Pebble's own scheduler does, but looks
// at the clock only while a compaction waits: that of Pebble wakes ten times a second for each database, which was nine tenths of what
// a daemon with a hundred idle pipelines did.
//
// The database calls it with its own lock held, except for Done and Unregister; so mu is never held while the database is called, apart from
// GetAllowedWithoutPermission, which takes no lock.
type scheduler struct {
	db    pebble.DBForCompaction // set by Register, before everything else
	clock clock.Clock

	mu       sync.Mutex
	running  int
	over     bool // Unregister was called
	watching bool // watch runs
	refused  bool // since watch has last looked
	granting bool // somebody is granting, one at a time
	granted  *sync.Cond

	stop    chan struct{} // closed by Unregister
	watched sync.WaitGroup
}

var (
	_ pebble.CompactionScheduler   = (*scheduler)(nil)
	_ pebble.CompactionGrantHandle = (*scheduler)(nil)
)

func newScheduler(c clock.Clock) *scheduler {
	s := &scheduler{clock: c, stop: make(chan struct{})}
	s.granted = sync.NewCond(&s.mu)
	return s
}

// Register implements pebble.CompactionScheduler.
func (s *scheduler) Register(_ int, db pebble.DBForCompaction) { s.db = db }

// Unregister implements pebble.CompactionScheduler: when it returns the database is not called any more.
func (s *scheduler) Unregister() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	close(s.stop)
	s.watched.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.granting {
		s.granted.Wait()
	}
}

// TrySchedule implements pebble.CompactionScheduler.
func (s *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false, nil
	}
	if s.db.GetAllowedWithoutPermission() > s.running {
		s.running++
		return true, s
	}
	s.watch()
	return false, nil
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler: a flush may have made more compactions allowed. If one waits, it was
// refused, and is looked after.
func (s *scheduler) UpdateGetAllowedWithoutPermission() {}

// watch looks after a compaction that was refused; mu is held.
func (s *scheduler) watch() {
	s.refused = true
	if s.watching || s.over {
		return
	}
	s.watching = true
	s.watched.Go(func() {
		t := s.clock.NewTicker(lookAgain)
		defer t.Stop()
		for {
			select {
			case <-t.C():
			case <-s.stop:
				return
			}
			s.mu.Lock()
			s.refused = false
			s.mu.Unlock()
			waiting := s.grant()
			s.mu.Lock()
			if !waiting && !s.refused {
				s.watching = false
				s.mu.Unlock()
				return
			}
			s.mu.Unlock()
		}
	})
}

// grant lets compactions run that wait and may; waiting says that others may still wait.
func (s *scheduler) grant() (waiting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.granting {
		s.granted.Wait()
	}
	if s.over {
		return false
	}
	s.granting = true
	waiting = true
	for waiting && s.db.GetAllowedWithoutPermission() > s.running {
		s.running++ // for the one that is about to be granted, so that TrySchedule counts it
		s.mu.Unlock()
		if waiting, _ = s.db.GetWaitingCompaction(); waiting {
			waiting = s.db.Schedule(s)
		}
		s.mu.Lock()
		if !waiting {
			s.running--
		}
	}
	s.granting = false
	s.granted.Broadcast()
	return waiting
}

// Done implements pebble.CompactionGrantHandle.
func (s *scheduler) Done() {
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
	s.grant()
}

// Started implements pebble.CompactionGrantHandle.
func (s *scheduler) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (s *scheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (s *scheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}
