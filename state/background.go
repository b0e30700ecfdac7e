package state

import (
	"runtime"
	"time"

	"github.com/cockroachdb/errors"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/daemon/clock"
)

// The database does flushes and compactions behind our back, and when one fails it begins the next at once. On a full disk that would be
// a busy loop, and commits wait in it without a word once the memtables are full.
const (
	setbackPause = 100 * time.Millisecond // between two tries of background work
	maxSetbacks  = 50                     // in a row, after which a disk that is not full is given up
)

// events listens to the database.
func (s *Store) events() *pebble.EventListener {
	done := func(err error) {
		if err == nil {
			s.log.progress()
		}
		s.relieved()
	}
	return &pebble.EventListener{
		BackgroundError: s.log.setback,
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			s.log.fail(errors.Mark(errors.Wrapf(info.Details, "%s", info.Path), pebble.ErrCorruption))
		},
		CompactionEnd: func(info pebble.CompactionInfo) { done(info.Err) },
		FlushEnd:      func(info pebble.FlushInfo) { done(info.Err) },
	}
}

// setback is called by background work that has failed, which will be tried again as soon as it returns. The database's lock is held, so
// commits wait too; they would wait for this very work anyway. Work of a broken store ends here for good.
func (h *health) setback(err error) {
	full := vfs.IsNoSpaceError(err)
	h.mu.Lock()
	h.setbacks++
	n := h.setbacks
	h.mu.Unlock()
	if h.fenced.Load() {
		runtime.Goexit()
	}
	switch {
	case full && h.opening.Load(): // Open flushes what it finds in the log, and would wait for ever
		h.fail(err)
		runtime.Goexit()
	case full:
		h.starve(err)
	case n >= maxSetbacks:
		h.fail(err)
		runtime.Goexit()
	default:
		h.log.Warn("background work of the state store has failed; it is tried again", "error", err)
	}
	// The system's clock, whatever the tests use: nobody could advance another one while the lock is held.
	pause := clock.System().NewTimer(h.pause)
	defer pause.Stop()
	select {
	case <-pause.C():
	case <-h.broken:
		runtime.Goexit()
	}
}

// progress notes that background work goes on.
func (h *health) progress() {
	h.mu.Lock()
	h.setbacks = 0
	h.mu.Unlock()
	h.starve(nil)
}

// starve notes that the disk is full for background work, or is not any more.
func (h *health) starve(err error) {
	h.mu.Lock()
	changed := (h.starved == nil) != (err == nil)
	h.starved = err
	h.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		h.log.Error("the disk is full: the state store waits for room", "error", err)
	}
	go h.tell() // the database's lock is held
}

// tell brings the listener up to date.
func (h *health) tell() {
	h.telling.Lock()
	defer h.telling.Unlock()
	h.mu.Lock()
	now, listener := h.starved, h.listener
	h.mu.Unlock()
	if listener != nil {
		listener(now)
	}
}

// OnStarving sets who is told, in a goroutine of its own, when the disk is too full for the database's background work, and (nil) when it
// goes on. A commit may wait all the while: it is finished when there is room again, or given up as its context says.
func (s *Store) OnStarving(listener func(error)) {
	s.log.mu.Lock()
	s.log.listener = listener
	starved := s.log.starved
	s.log.mu.Unlock()
	if starved != nil {
		go s.log.tell()
	}
}
