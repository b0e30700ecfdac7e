package state

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// afterOpening keeps the database from compacting while it is being opened. What it finds in its log it flushes, which may make a compaction
// due, and then it waits for the end of that before Open returns: for seconds, the more the larger the state.
type afterOpening struct {
	*scheduler
	opening *atomic.Bool
}

// Register implements pebble.CompactionScheduler.
func (a afterOpening) Register(goroutines int, db pebble.DBForCompaction) {
	a.scheduler.Register(goroutines, openingDB{db, a.opening})
}

type openingDB struct {
	pebble.DBForCompaction
	opening *atomic.Bool
}

// GetAllowedWithoutPermission is how many compactions may run.
func (d openingDB) GetAllowedWithoutPermission() int {
	if d.opening.Load() {
		return 0
	}
	return d.DBForCompaction.GetAllowedWithoutPermission()
}
