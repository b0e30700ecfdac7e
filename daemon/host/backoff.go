package host

import "time"

// Backoff says how long to wait before the next start. It is a value that one goroutine owns; it reads no clock.
type Backoff struct {
	Min, Max time.Duration // of the pause, before it is spread; each failure doubles it
	// ResetAfter is how long a run must last to count as a success.
	ResetAfter time.Duration
	// Limit is the number of failures in a row after which the breaker opens: no further start, until somebody asks for one. 0 = none.
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
	if b.Limit > 0 && b.failures > b.Limit {
		return 0, false
	}
	pause = b.Min
	for i := 1; i < b.failures && pause < b.Max; i++ {
		pause *= 2
	}
	pause = min(pause, b.Max)
	return pause - time.Duration(spread*float64(pause)/4), true
}

// Failures is the number of failures in a row.
func (b *Backoff) Failures() int { return b.failures }

// Reset closes the breaker.
func (b *Backoff) Reset() { b.failures = 0 }
