package host

import (
	"errors"
	"time"
)

// Backoff says how long to wait before the next start, and when not to start any more. It is a value that one goroutine owns; it reads no
// clock. A pipeline has two: one for all its failures, and one, the breaker against crash loops, for those that are [Crash]es.
type Backoff struct {
	Min, Max time.Duration // of the pause, before it is spread; each failure doubles it
	// ResetAfter is how long a run must last to count as a success: the failure after it is a first one again. 0 = never.
	ResetAfter time.Duration
	// Limit is the number of failures in a row at which the breaker opens: no further start, until somebody asks for one. 0 = none.
	Limit int

	failures int
}

// Failed tells of the end of a run that lasted for `lasted`. spread is a random number in [0, 1): the pause is between three quarters and
// all of its length, so that many pipelines do not start in step. again is false when the breaker opens.
func (b *Backoff) Failed(lasted time.Duration, spread float64) (pause time.Duration, again bool) {
	if b.ResetAfter > 0 && lasted >= b.ResetAfter {
		b.failures = 0
	}
	b.failures++
	if b.Limit > 0 && b.failures >= b.Limit {
		return 0, false
	}
	pause = b.Min
	for i := 1; i < b.failures && pause < b.Max; i++ {
		pause *= 2
	}
	pause = max(min(pause, b.Max), b.Min)
	return pause - time.Duration(spread*float64(pause)/4), true
}

// Failures is the number of failures in a row.
func (b *Backoff) Failures() int { return b.failures }

// Reset closes the breaker.
func (b *Backoff) Reset() { b.failures = 0 }

// Crash returns the failure of a plugin that an error comes from, or nil when no plugin's process is to blame. A file that cannot be run
// here, or is not the one that was pinned, is no crash: somebody may be about to put another one there.
func Crash(err error) *Failure {
	var f *Failure
	if !errors.As(err, &f) {
		return nil
	}
	switch f.Reason {
	case Died, Hung, BrokeProtocol, StartFailed, StartTimeout, NotAPlugin:
		return f
	}
	return nil
}
