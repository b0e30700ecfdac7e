package deliver

import "time"

// noticeEvery is how often a sink that goes on failing is spoken of.
const noticeEvery = time.Minute

// health is how a sink does.
type health struct {
	success  time.Time // when it last took something; zero: never
	since    time.Time // when it began to fail; zero: it does not
	failures int       // in a row
	err      error
	spoken   time.Time
}

// Status is an outbox at a glance.
type Status struct {
	Next    uint64 // number of the next row
	Taken   uint64 // the sink has taken all rows up to this number
	Waiting uint64 // rows that it has not taken
	Bytes   int64  // of these rows, about
	Memory  int64  // bytes of them in memory, about

	LastSuccess  time.Time // zero: nothing was taken in this run
	FailingSince time.Time // zero: it does not fail
	Failures     int       // in a row
	Error        error     // of the last failure
}

// Status tells how the outbox does.
func (o *Outbox) Status() Status {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := min(o.acked, o.next-1) // rows that are left out are with the sink already
	s := Status{
		Next: o.next, Taken: taken, Waiting: o.next - 1 - taken, Memory: o.memory,
		LastSuccess: o.health.success, FailingSince: o.health.since, Failures: o.health.failures, Error: o.health.err,
	}
	for _, c := range o.chunks {
		s.Bytes += c.bytes
	}
	return s
}

// failed notes a failure, and speaks of it at first and then once in a while.
func (o *Outbox) failed(err error, wait time.Duration) {
	o.mu.Lock()
	now := o.set.Clock.Now()
	h := &o.health
	if h.failures == 0 {
		h.since = now
	}
	h.failures++
	h.err = err
	speak := h.spoken.IsZero() || now.Sub(h.spoken) >= noticeEvery
	if speak {
		h.spoken = now
	}
	failures, since := h.failures, h.since
	o.signal() // whoever settles may not want to wait any longer
	o.mu.Unlock()
	if speak {
		o.set.Log.Warn("the sink takes nothing; it is tried again", "sink", o.set.Name, "error", err, "failures", failures,
			"since", since.UTC().Format(time.RFC3339), "pause", wait.Round(time.Millisecond).String())
	}
}

// recovered notes a success.
func (o *Outbox) recovered() {
	o.mu.Lock()
	h := o.health
	o.health = health{success: o.set.Clock.Now()}
	o.mu.Unlock()
	if h.failures > 0 {
		o.set.Log.Info("the sink takes rows again", "sink", o.set.Name, "failures", h.failures,
			"after", o.set.Clock.Since(h.since).Round(time.Millisecond).String())
	}
}
