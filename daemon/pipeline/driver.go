package pipeline

import (
	"context"
	"math"
)

// Driver moves an attempt whose pipeline was given Settings.Drive. Such a pipeline has no alarms: no ticks of assigners, no
// idleness, no timers of windows and no checkpoints happen but by the driver's methods, so that whoever holds it decides what
// comes before what. Everything else is as ever.
//
// One goroutine uses a Driver. All methods return an error when the attempt has ended, and why.
type Driver struct {
	a     *attempt
	lanes []driven
	last  int64 // when the last checkpoint was made
	made  int   // checkpoints
	dirty bool  // something may have happened since
}

// driven is what a Driver knows about a lane.
type driven struct {
	*lane
	begun int64 // processing time, ms: ticks come at begun + k*every
	every int64 // 0: no ticks
	next  int64 // time of the next tick
	in    int64 // records that had come in at the last one; -1: there was none
}

func newDriver(a *attempt) *Driver {
	now := a.now()
	d := &Driver{a: a, last: now}
	for _, l := range a.lanes {
		every := l.tickEvery().Milliseconds()
		d.lanes = append(d.lanes, driven{lane: l, begun: now, every: every, next: now + every, in: -1})
	}
	return d
}

// tickDue is when the generators are asked next. An assigner that has got nothing since it was last asked would say the same again, so
// that hours without records cost nothing.
func (l *driven) tickDue(now int64) int64 {
	if l.every == 0 || l.rule == pluginTime && l.counts.In.Load() == l.in {
		return math.MaxInt64
	}
	if l.next < now { // ticks without a purpose have been left out
		l.next = l.begun + (now-l.begun+l.every-1)/l.every*l.every
	}
	return l.next
}

// Settle waits until everything that the sources have handed over before has been worked through: every window fired that is due,
// every row with its sink's queue.
func (d *Driver) Settle() error {
	d.dirty = true
	return d.a.coord.order(d.a.ctx, true)
}

// Checkpoint has a checkpoint committed and waits until the sinks have taken what it holds.
func (d *Driver) Checkpoint() error {
	d.last, d.dirty = d.a.now(), false
	if err := d.a.coord.order(d.a.ctx, false); err != nil {
		return err
	}
	d.made++
	return d.a.drain(d.a.ctx)
}

// Checkpoints is how many the driver has had committed.
func (d *Driver) Checkpoints() int { return d.made }

// Due is the processing time (ms) at which Fire has something to do next: math.MaxInt64 for never. The pipeline is settled.
func (d *Driver) Due() int64 {
	due := d.checkpointDue()
	for i := range d.lanes {
		if l := &d.lanes[i]; !l.counts.Ended.Load() {
			due = min(due, l.tickDue(d.a.now()), l.idleDue())
		}
	}
	for _, s := range d.a.plan.Steps {
		if n := d.a.stages[s.Name]; n != nil {
			due = min(due, n.stage.NextProcessingTime())
		}
	}
	return due
}

func (d *Driver) checkpointDue() int64 {
	c := d.a.coord
	if !d.dirty { // an empty commit would say the same again
		return math.MaxInt64
	}
	due := d.last + c.interval.Milliseconds()
	if len(c.wanted) > 0 {
		due = min(due, d.last+c.minInterval.Milliseconds())
	}
	return due
}

// Fire does what is due at the clock's time, each thing when the one before has been worked through: generators, source by source,
// then idleness, then windows, then the checkpoint. The pipeline is settled before and after.
func (d *Driver) Fire() error {
	now := d.a.now()
	for i := range d.lanes {
		l := &d.lanes[i]
		if l.counts.Ended.Load() {
			continue
		}
		if l.tickDue(now) <= now {
			l.next, l.in = now+l.every, l.counts.In.Load()
			if err := d.enter(l.lane, tickItem); err != nil {
				return err
			}
		}
		if l.idleDue() <= now {
			if err := d.enter(l.lane, alarmItem); err != nil {
				return err
			}
		}
	}
	for _, s := range d.a.plan.Steps {
		n := d.a.stages[s.Name]
		if n == nil || n.stage.NextProcessingTime() > now {
			continue
		}
		if err := n.stage.Tick(); err != nil {
			return err
		}
		if err := d.Settle(); err != nil {
			return err
		}
	}
	if d.checkpointDue() <= now {
		return d.Checkpoint()
	}
	return nil
}

func (d *Driver) enter(l *lane, kind itemKind) error {
	if err := l.request(d.a.ctx, request{kind: kind}); err != nil {
		return err
	}
	return d.Settle()
}

// Waits reports whether a source takes in no batch now, because it is too far ahead of others (max_drift).
func (d *Driver) Waits(source string) bool {
	for _, l := range d.a.lanes {
		if l.name == source {
			return l.align.ahead()
		}
	}
	return false
}

// Hold says that a source is kept from handing over its next batch because Waits said so: its silence is not its own.
func (d *Driver) Hold(source string, held bool) {
	for _, l := range d.a.lanes {
		if l.name == source && l.align != nil {
			l.align.waiting.Store(held)
			l.gated.Store(held)
		}
	}
}

// HoldApart tells a source which of its partitions to leave alone now, and which not any more (max_drift).
func (d *Driver) HoldApart(source string) error {
	for _, l := range d.a.lanes {
		if l.name == source && l.apart.holder != nil {
			_, err := l.tellHolds()
			return err
		}
	}
	return nil
}

// Crash ends the attempt where it stands, and the pipeline with it: what is not committed is lost.
func (d *Driver) Crash() { d.a.cancel(ErrCrashed) }

// Done is closed when the attempt has ended.
func (d *Driver) Done() <-chan struct{} { return d.a.ctx.Done() }

// Cause is why the attempt has ended.
func (d *Driver) Cause() error { return context.Cause(d.a.ctx) }
