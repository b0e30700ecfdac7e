package pipeline

import (
	"context"
	"math"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// answers takes batches back from the assigner and combines watermarks.
func (l *lane) answers(ctx context.Context) error {
	alarm := l.clock.NewTimer(math.MaxInt64)
	defer alarm.Stop()
	armed := int64(watermark.Never)
	for {
		// Activity only moves the moment of idleness away, so the alarm is set when none is, and looks again when it rings.
		if next := l.idleDue(); next < armed && !l.manual {
			alarm.Reset(max(0, time.UnixMilli(next).Sub(l.clock.Now())))
			armed = next
		}
		select {
		case it := <-l.assigned:
			if err := l.answer(ctx, it); err != nil {
				return quiet(ctx, err)
			}
		case <-alarm.C():
			armed = watermark.Never
			if len(l.assigned) > 0 || len(l.decoded) > 0 {
				continue // not silence: we are behind
			}
			if err := l.answer(ctx, &item{kind: alarmItem}); err != nil {
				return quiet(ctx, err)
			}
		case <-l.apart.resumed: // a partition's silence counts again
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *lane) answer(ctx context.Context, it *item) error {
	var got wire.AssignerEvent
	if it.answered {
		var err error
		if got, err = l.assigner.Recv(); err != nil {
			l.ward.failed(ctx, err)
			return err
		}
		if it.kind == batchItem {
			present(it.batch, l.columns[0].computed)
			l.ward.took()
		}
	}
	now := l.now()
	if it.kind == batchItem {
		l.stamp(it.batch, it.deferred, got.Markers, now)
	}
	l.statusMu.Lock()
	l.hold(now)
	l.events = l.events[:0]
	err := l.combineItem(it, got, now)
	l.report()
	l.statusMu.Unlock()
	if err != nil {
		return err
	}
	l.rouse()
	if it.kind == sourceEndItem || it.kind == sourceStopItem {
		l.readMetrics(ctx)
	}
	if it.kind == batchItem {
		it.done = make(chan struct{}, 1)
		return l.submit(ctx, it)
	}
	return l.pass(ctx, it)
}

// markersIgnored is the metric of assigners that take the lower ones out of their watermarks themselves.
const markersIgnored = "markers_ignored_total"

// readMetrics asks the assigner, which has answered everything, how many watermarks it has ignored.
func (l *lane) readMetrics(ctx context.Context) {
	a, ok := l.assigner.(interface {
		Metrics(ctx context.Context) ([]wire.Metric, error)
	})
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	metrics, err := a.Metrics(ctx)
	if err != nil {
		return // a figure for people is not worth a failure
	}
	for _, m := range metrics {
		if m.Name == markersIgnored {
			l.counts.Refrained.Store(int64(m.Value))
		}
	}
}

// combineItem tells the combination of the partitions' watermarks what an item means; l.statusMu is held.
func (l *lane) combineItem(it *item, got wire.AssignerEvent, now int64) error {
	switch it.kind {
	case batchItem:
		l.combineBatch(it, now)
	case addedItem:
		l.combine.Add(it.partition, now)
		if err := l.restoreDoubts(l.believed, it); err != nil {
			return err
		}
		if s, ok := l.restored[it.name]; ok && s.watermark != batch.NoWatermark {
			// It does not count before something else happens: the others of the last run are still to be announced, and one that is
			// behind this one must not find the source's watermark beyond its own.
			l.combine.Defer(it.partition, s.watermark, now)
		}
		if l.restored[it.name].idle {
			l.combine.DeferIdle(it.partition, now) // it was silent before the stop, and need not show it again
		}
	case endedItem:
		if l.believed != nil {
			l.believed.End(it.partition)
		}
		l.combine.End(it.partition, now)
		l.events = l.combine.Combine(l.events)
		if l.journal != nil { // a connection: there is no end to their number, and nobody looks for those that have gone
			l.combine.Remove(it.partition)
		}
		l.latenessMu.Lock()
		l.lateness.Forget(it.partition)
		l.latenessMu.Unlock()
	case idleItem:
		l.events = l.combine.MarkIdle(it.partition, now, l.events)
	case busyItem:
		l.events = l.combine.Row(it.partition, now, l.events)
	case tickItem:
		if l.rule == ingestionTime {
			if w, due := l.arrivals.Watermark(now); due {
				l.statuses = l.combine.Status(l.statuses[:0])
				for _, p := range l.statuses {
					l.combine.Defer(p.Partition, w, now)
				}
			}
		}
		for _, w := range got.Watermarks {
			if w.Watermark != batch.NoWatermark && !l.combine.Check(w.Partition, now) && !l.tooFar(w.Watermark, now) &&
				(l.believed == nil || l.believed.Believes(w.Partition, w.Watermark)) {
				l.combine.Defer(w.Partition, w.Watermark, now)
			}
		}
		l.events = l.combine.Combine(l.events)
	case alarmItem:
		l.events = l.combine.Tick(now, l.events)
	case sourceEndItem:
		l.events = l.combine.Finish(l.events)
	case barrierItem:
		if isProbe(it.barrier) {
			return nil
		}
		it.states = append([]wire.PartitionState(nil), got.States...)
		for i := range it.states {
			it.states[i].State = append([]byte(nil), it.states[i].State...)
		}
		it.marks = map[uint32]partitionMark{}
		l.statuses = l.combine.Status(l.statuses[:0])
		for _, p := range l.statuses {
			m := partitionMark{watermark: p.Watermark, idle: p.State == watermark.StateIdle, guard: it.doubts[p.Partition]}
			if l.believed != nil {
				m.guard = l.believed.Snapshot(p.Partition, nil)
			}
			it.marks[p.Partition] = m
		}
		it.combined = l.combine.Watermark()
	}
	return nil
}

// hold stops the partitions' idleness clocks while intake waits for room: then it is us who are silent.
func (l *lane) hold(now int64) {
	gated := l.gated.Load()
	if gated == l.held {
		return
	}
	l.held = gated
	l.statuses = l.combine.Status(l.statuses[:0])
	for _, p := range l.statuses {
		if gated {
			l.combine.Hold(p.Partition, now)
		} else if !l.apart.held[p.Partition] {
			l.combine.Resume(p.Partition, now)
		}
	}
}

// report publishes where the combination stands; l.statusMu is held.
func (l *lane) report() {
	l.watermark.Store(l.combine.Watermark())
	l.counts.Ignored.Store(int64(l.combine.Ignored()))
	if l.align != nil {
		l.align.report(l.combine.Watermark(), l.combine.IsIdle())
	}
}

// tooFar reports, and counts, a watermark that max_ahead does not believe: whoever said it (a marker, a source, a plugin) has a wrong
// clock, and everybody else would be late by it.
func (l *lane) tooFar(w, now int64) bool {
	if l.maxAhead.Limit <= 0 {
		return false
	}
	_, dropped := l.maxAhead.Marks([]batch.Mark{{Watermark: w}}, now)
	l.counts.TooFar.Add(int64(dropped))
	return dropped > 0
}

// pass sends on an item that is no batch, with the changes of the combined watermark it has caused.
func (l *lane) pass(ctx context.Context, it *item) error {
	var marks []batch.Mark
	for _, e := range l.events {
		switch e.Kind {
		case watermark.Rise:
			marks = append(marks, batch.Mark{Watermark: e.Watermark})
		default:
			it.idle = append(it.idle, e.Kind == watermark.Idle)
		}
	}
	if len(marks) > 0 {
		b := batch.Get()
		b.Marks = append(b.Marks, marks...)
		m := &item{batch: b, done: make(chan struct{}, 1)}
		// Active comes before the watermark it goes with, idle after: see the order of the events.
		if l.events[0].Kind == watermark.Active {
			m.idle, it.idle = it.idle[:1], it.idle[1:]
		}
		if err := l.submit(ctx, m); err != nil {
			return err
		}
	}
	return send(ctx, l.ready, it)
}

// stamp gives a batch the times and marks that it goes on with.
func (l *lane) stamp(b *batch.Batch, deferred []batch.BadRow, markers []uint32, now int64) {
	if l.rule == ingestionTime || l.rule == processingTime {
		arrival := l.arrivals.Arrive(now)
		b.Times = b.Times[:0]
		for range b.N {
			b.Times = append(b.Times, arrival)
		}
		b.Marks = b.Marks[:0]
		if w, due := l.arrivals.Watermark(now); due && l.rule == ingestionTime {
			b.Marks = append(b.Marks, batch.Mark{After: uint32(b.N), Watermark: w})
		}
	}
	if l.eventTime {
		refuseTimeless(b, deferred, markers)
	}
	if l.believed != nil {
		l.counts.Unconfirmed.Add(int64(l.believed.Apply(b)))
	}
	if l.implausible.Load() {
		l.counts.Suspect.Add(suspects(b))
	}
	if l.maxAhead.Limit > 0 {
		var dropped int
		b.Marks, dropped = l.maxAhead.Marks(b.Marks, now)
		l.counts.TooFar.Add(int64(dropped))
	}
	l.latenessMu.Lock()
	l.lateness.Observe(b.Partition, b.Times, b.Sel)
	l.latenessMu.Unlock()
	if len(markers) > 0 {
		l.counts.Markers.Add(int64(len(markers)))
		if !l.keep {
			b.Sel = without(b.Select(), markers)
		}
	}
}

// suspects counts the times that hardly anybody means.
func suspects(b *batch.Batch) (n int64) {
	const from, to = 631152000000, 4102444800000 // 1990, 2100
	for _, t := range b.Times {
		if t != batch.NoTimestamp && (t < from || t >= to) {
			n++
		}
	}
	return n
}

// combineBatch replaces a batch's marks, which are its partition's, by those of the whole source.
func (l *lane) combineBatch(it *item, now int64) {
	b := it.batch
	b.Before = l.combine.Watermark()
	var activated bool
	l.marks, activated = l.combine.Apply(it.partition, b.N, b.Marks, now, l.marks[:0])
	b.Marks = append(b.Marks[:0], l.marks...)
	if activated {
		it.idle = append(it.idle, false)
	}
	if l.trace != nil {
		l.trace(l.name, b)
	}
}

// refuseTimeless refuses the alive rows that have no time and are no markers. Reasons that decoding has found are given again.
func refuseTimeless(b *batch.Batch, reasons []batch.BadRow, markers []uint32) {
	found := false
	for _, t := range b.Times {
		found = found || t == batch.NoTimestamp
	}
	if !found {
		return
	}
	from := len(b.Bad)
	for _, r := range b.Select() {
		for len(markers) > 0 && markers[0] < r {
			markers = markers[1:]
		}
		if b.Times[r] != batch.NoTimestamp || len(markers) > 0 && markers[0] == r {
			continue
		}
		for len(reasons) > 0 && reasons[0].Row < r {
			reasons = reasons[1:]
		}
		if len(reasons) > 0 && reasons[0].Row == r {
			b.Bad = append(b.Bad, reasons[0])
			continue
		}
		b.Refuse(int(r), decode.CodeNoTimestamp, "the record has no timestamp")
	}
	b.Narrow(from)
}

// submit gives a batch to the workers that prepare it for what reads the main port. Emit wants its refused rows and position, so it
// keeps a share.
func (l *lane) submit(ctx context.Context, it *item) error {
	b := it.batch
	b.Retain(1)
	if err := l.pool.submit(ctx, func(worker int) { it.out = l.out[worker].prepare(b, it.out[:0]) }, it.done); err != nil {
		return err
	}
	return send(ctx, l.ready, it)
}

// without removes from sel the rows of drop; both ascend.
func without(sel, drop []uint32) []uint32 {
	out := sel[:0]
	k := 0
	for _, r := range sel {
		for k < len(drop) && drop[k] < r {
			k++
		}
		if k < len(drop) && drop[k] == r {
			continue
		}
		out = append(out, r)
	}
	return out
}
