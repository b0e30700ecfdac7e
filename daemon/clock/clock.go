// Package clock is the one source of time and tickers. Production code takes a [Clock]; tests and `tidemark test` pass a
// [Virtual] one. No other package of the daemon calls time.Now, time.After or time.NewTicker.
package clock

import (
	"sync"
	"time"
)

// Clock tells processing time. Safe for use by several goroutines.
type Clock interface {
	// Now is the wall clock. Event-time code wants Now().UnixMilli().
	Now() time.Time
	// Since is the time that has passed since t was read from Now; steps of the wall clock do not count where the system
	// can tell (monotonic reading).
	Since(t time.Time) time.Duration
	// NewTimer fires once on C after d. Stop it when it is no longer wanted.
	NewTimer(d time.Duration) Timer
	// NewTicker fires on C every d, dropping ticks for a slow reader. d must be positive.
	NewTicker(d time.Duration) Ticker
}

// Timer is a single alarm.
type Timer interface {
	C() <-chan time.Time
	Stop() bool
	Reset(d time.Duration) bool
}

// Ticker is a repeated alarm.
type Ticker interface {
	C() <-chan time.Time
	Stop()
}

// System is the real clock.
func System() Clock { return system{} }

type system struct{}

func (system) Now() time.Time                   { return time.Now() }
func (system) Since(t time.Time) time.Duration  { return time.Since(t) }
func (system) NewTimer(d time.Duration) Timer   { return sysTimer{time.NewTimer(d)} }
func (system) NewTicker(d time.Duration) Ticker { return sysTicker{time.NewTicker(d)} }

type sysTimer struct{ t *time.Timer }

func (t sysTimer) C() <-chan time.Time        { return t.t.C }
func (t sysTimer) Stop() bool                 { return t.t.Stop() }
func (t sysTimer) Reset(d time.Duration) bool { return t.t.Reset(d) }

type sysTicker struct{ t *time.Ticker }

func (t sysTicker) C() <-chan time.Time { return t.t.C }
func (t sysTicker) Stop()               { t.t.Stop() }

// Virtual is a clock that moves only when told to.
type Virtual struct {
	mu     sync.Mutex
	now    time.Time
	alarms map[*alarm]struct{}
}

// NewVirtual returns a clock that stands at start.
func NewVirtual(start time.Time) *Virtual {
	return &Virtual{now: start, alarms: map[*alarm]struct{}{}}
}

func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

func (v *Virtual) Since(t time.Time) time.Duration { return v.Now().Sub(t) }

// Advance moves the clock by d and fires, in the order of their times, all alarms that fall due.
func (v *Virtual) Advance(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	end := v.now.Add(d)
	for {
		var next *alarm
		for a := range v.alarms {
			if !a.at.After(end) && (next == nil || a.at.Before(next.at)) {
				next = a
			}
		}
		if next == nil {
			break
		}
		v.now = next.at
		select {
		case next.c <- next.at:
		default: // like time.Ticker: a slow reader loses ticks
		}
		if next.every > 0 {
			next.at = next.at.Add(next.every)
		} else {
			delete(v.alarms, next)
		}
	}
	v.now = end
}

// Pending is the number of alarms that are set.
func (v *Virtual) Pending() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.alarms)
}

func (v *Virtual) NewTimer(d time.Duration) Timer { return virtualTimer{v.set(d, 0)} }

func (v *Virtual) NewTicker(d time.Duration) Ticker {
	if d <= 0 {
		panic("clock: ticker interval must be positive")
	}
	return virtualTicker{v.set(d, d)}
}

func (v *Virtual) set(d, every time.Duration) *alarm {
	v.mu.Lock()
	defer v.mu.Unlock()
	a := &alarm{clock: v, c: make(chan time.Time, 1), at: v.now.Add(d), every: every}
	if d <= 0 && every == 0 {
		a.c <- v.now
		return a
	}
	v.alarms[a] = struct{}{}
	return a
}

type alarm struct {
	clock *Virtual
	c     chan time.Time
	at    time.Time
	every time.Duration
}

func (a *alarm) stop() bool {
	a.clock.mu.Lock()
	defer a.clock.mu.Unlock()
	_, set := a.clock.alarms[a]
	delete(a.clock.alarms, a)
	return set
}

type virtualTimer struct{ a *alarm }

func (t virtualTimer) C() <-chan time.Time { return t.a.c }
func (t virtualTimer) Stop() bool          { return t.a.stop() }
func (t virtualTimer) Reset(d time.Duration) bool {
	was := t.a.stop()
	t.a.clock.mu.Lock()
	defer t.a.clock.mu.Unlock()
	select { // a tick that nobody took belongs to the old setting
	case <-t.a.c:
	default:
	}
	t.a.at = t.a.clock.now.Add(d)
	if d <= 0 {
		t.a.c <- t.a.clock.now
		return was
	}
	t.a.clock.alarms[t.a] = struct{}{}
	return was
}

type virtualTicker struct{ a *alarm }

func (t virtualTicker) C() <-chan time.Time { return t.a.c }
func (t virtualTicker) Stop()               { t.a.stop() }
