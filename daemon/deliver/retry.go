package deliver

import (
	"time"
)

// Retry says how a sink that fails is tried again.
type Retry struct {
	Backoff    time.Duration // pause after the first failure; default 100 ms. It doubles from failure to failure
	MaxBackoff time.Duration // longest pause; default 30 s
	Attempts   int           // tries of one delivery after which the pipeline's attempt ends; 0 = for ever
	Timeout    time.Duration // of one try; 0 = none
}

func (r Retry) withDefaults() Retry {
	if r.Backoff <= 0 {
		r.Backoff = 100 * time.Millisecond
	}
	if r.MaxBackoff <= 0 {
		r.MaxBackoff = 30 * time.Second
	}
	return r
}

// pause is how long to wait after the n-th failure in a row, counting from 1: between half of the doubled pause and all of it, and never
// shorter than what the other side has asked for.
func (r Retry) pause(n int, asked time.Duration, jitter float64) time.Duration {
	p := r.Backoff
	for i := 1; i < n && p < r.MaxBackoff; i++ {
		p *= 2
	}
	p = min(p, r.MaxBackoff)
	p = p/2 + time.Duration(jitter*float64(p/2))
	return max(p, asked)
}
