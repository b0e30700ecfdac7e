package state

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/tidemark-stream/tidemark/daemon/clock"
)

// health knows whether the database can still be used. Pebble calls a fatal error out through its logger and expects the process to end
// there. We end the goroutine instead and fence the files: one pipeline's disk must not take the others down.
type health struct {
	log     *slog.Logger
	clock   clock.Clock
	grace   time.Duration
	pause   time.Duration // see setback
	opening atomic.Bool
	fenced  atomic.Bool
	broken  chan struct{} // closed once err is set

	mu       sync.Mutex
	err      error
	setbacks int         // background work that has failed in a row
	starved  error       // the disk is full for background work
	listener func(error) // told when starved changes
	telling  sync.Mutex  // serialises the listener
}

// fail records the first error and closes the fence.
func (h *health) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return
	}
	h.err = err
	h.fenced.Store(true)
	close(h.broken)
}

func (h *health) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// run calls f, which may meet a fatal error, and returns when f does, when the store breaks, or some time after ctx has ended; the last
// two leave the store broken, because nobody knows what f will still do.
func (h *health) run(ctx context.Context, what string, f func() error) error {
	if err := h.failure(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		// The database panics where it cannot go on writing its log (and where it has a bug). Its locks may be held for ever then.
		defer func() {
			if r := recover(); r != nil {
				err, ok := r.(error)
				if !ok {
					err = fmt.Errorf("%v", r)
				}
				h.log.Error("the state store is broken", "error", err, "stack", string(debug.Stack()))
				h.fail(fmt.Errorf("%s: %w", what, err))
			}
		}()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-h.broken:
		return h.failure()
	case <-ctx.Done():
	}
	// What was begun is quickly done, unless the disk hangs. Breaking the store costs its memory until the process ends.
	grace := h.clock.NewTimer(h.grace)
	defer grace.Stop()
	select {
	case err := <-done:
		return err
	case <-h.broken:
	case <-grace.C():
		h.fail(fmt.Errorf("%s was given up on after %s: %w", what, h.grace, context.Cause(ctx)))
	}
	return h.failure()
}

// Infof, Errorf and Fatalf make health the database's logger.
func (h *health) Infof(format string, args ...any) {
	if h.log.Enabled(context.Background(), slog.LevelDebug) {
		h.log.Debug(fmt.Sprintf(format, args...))
	}
}

func (h *health) Errorf(format string, args ...any) { h.log.Warn(fmt.Sprintf(format, args...)) }

func (h *health) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	for _, a := range args { // the database formats causes with %v; keep the chain for errors.Is
		if cause, ok := a.(error); ok {
			err = errors.WithSecondaryError(errors.Wrapf(cause, "database"), err)
		}
	}
	h.log.Error("the state store is broken", "error", err)
	h.fail(err)
	runtime.Goexit()
}
