package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// calls guards batches and calls the assigner.
func (l *lane) calls(ctx context.Context) error {
	var tick <-chan time.Time
	if every := l.tickEvery(); every > 0 && !l.manual {
		t := l.clock.NewTicker(every)
		defer t.Stop()
		tick = t.C()
	}
	for _, s := range l.restored {
		l.begun = l.begun || len(s.position) > 0
	}
	if err := l.restoreGuard(); err != nil {
		return err
	}
	for {
		var it *item
		select {
		case it = <-l.decoded:
		case r := <-l.requests:
			if isProbe(r.barrier) { // it speaks for what has been taken in before
				for len(l.decoded) > 0 {
					if err := l.call(ctx, <-l.decoded); err != nil {
						return quiet(ctx, err)
					}
				}
			}
			it = &item{kind: r.kind, barrier: r.barrier}
		case <-tick:
			it = &item{kind: tickItem}
		case <-ctx.Done():
			return nil
		}
		if err := l.call(ctx, it); err != nil {
			return quiet(ctx, err)
		}
	}
}

// tickEvery is how often the generators are asked by the clock; 0: not at all.
func (l *lane) tickEvery() time.Duration {
	if l.rule == ingestionTime || l.rule == pluginTime && l.periodic && l.interval > 0 {
		return max(l.interval, time.Millisecond)
	}
	return 0
}

func (l *lane) call(ctx context.Context, it *item) error {
	assign := l.rule == pluginTime
	switch it.kind {
	case batchItem:
		// Here, where barriers enter, and not where the batch came in: so a barrier finds what has been counted, and has counted what it
		// finds. That makes the accounts close at each of them (I5).
		l.counts.In.Add(int64(it.rows))
		l.counts.Bytes.Add(int64(it.bytes))
		if err := l.wait(ctx, it); err != nil {
			return err
		}
		if it.severe != "" && !l.begun {
			return Permanent(errors.New(it.severe)) // nothing of this source will ever be read: better now than after a million dead letters
		}
		l.begun = l.begun || it.batch.Alive() > 0
		if l.over {
			l.tellPastEnd(it.batch.Alive())
		}
		if l.maxAhead.Limit > 0 {
			now := l.now()
			l.maxAhead.Apply(it.batch, now)
			l.counts.TooFar.Add(refuseMarkersAhead(it.batch, l.maxAhead, now))
		}
		if l.jumps != nil {
			return l.callAll(ctx, l.jumps.Apply(it.batch, nil))
		}
		return l.callBatch(ctx, it)
	case addedItem:
		if assign {
			if err := l.assigner.AddPartition(it.partition, it.name, l.restored[it.name].assigner); err != nil {
				return reason(ctx, err)
			}
			l.open = append(l.open, it.partition)
		}
		l.guardAdded(it.partition, it.name)
		if err := l.restoreDoubts(l.markers, it); err != nil {
			return err
		}
	case endedItem:
		if l.jumps != nil {
			if err := l.callAll(ctx, l.jumps.End(it.partition, nil)); err != nil {
				return err
			}
			delete(l.names, it.partition)
			if l.markers != nil {
				l.markers.End(it.partition)
			}
		}
		if assign {
			if l.periodic && l.interval > 0 { // its last word
				if err := l.callTick(ctx, []uint32{it.partition}); err != nil {
					return err
				}
			}
			if err := l.assigner.RemovePartition(it.partition); err != nil {
				return reason(ctx, err)
			}
			l.open = slices.DeleteFunc(l.open, func(p uint32) bool { return p == it.partition })
		}
	case sourceEndItem:
		if err := l.endAway(ctx); err != nil {
			return err
		}
	case tickItem:
		if assign {
			if len(l.open) == 0 {
				return nil
			}
			return l.callTick(ctx, l.open)
		}
	case barrierItem:
		if isProbe(it.barrier) {
			break
		}
		if l.jumps != nil {
			it.guard = l.guardSnapshot()
			if l.markers != nil {
				it.doubts = l.doubts()
			}
		}
		if assign {
			l.ward.barrier(it.barrier)
			if err := l.assigner.Barrier(it.barrier); err != nil {
				return reason(ctx, err)
			}
			it.answered = true
		}
	}
	return send(ctx, l.assigned, it)
}

func (l *lane) callBatch(ctx context.Context, it *item) error {
	if l.markers != nil {
		l.refuseUnconfirmed(it.batch)
	}
	if l.rule != pluginTime || it.batch.Alive() == 0 {
		return send(ctx, l.assigned, it)
	}
	if l.ward.watchful.Load() {
		if suspects := l.ward.inspect(it.batch); suspects != nil {
			return l.ward.carefully(ctx, it.batch, suspects, func(part *batch.Batch) error {
				return l.assign(ctx, &item{partition: it.partition, batch: part, deferred: it.deferred})
			})
		}
		if it.batch.Alive() == 0 {
			return send(ctx, l.assigned, it)
		}
	}
	return l.assign(ctx, it)
}

func (l *lane) assign(ctx context.Context, it *item) error {
	l.ward.give(it.batch)
	present(it.batch, l.columns[0].computed)
	if err := l.assigner.Assign(it.batch); err != nil {
		err = reason(ctx, err)
		l.ward.failed(ctx, err)
		return err
	}
	it.answered = true
	return send(ctx, l.assigned, it)
}

// Columns that assigners which read markers ask for, by the names of their options.
const (
	markerOption    = "marker"
	watermarkOption = "watermark"
)

// refuseMarkersAhead refuses markers whose watermark is further ahead of the clock than max_ahead, and returns how many. It has to be done
// before the assigner sees them: one that has believed such a watermark lets no lower one through any more.
func refuseMarkersAhead(b *batch.Batch, g watermark.MaxAhead, now int64) int64 {
	is, value := b.Column(markerOption), b.Column(watermarkOption)
	if is == nil || value == nil || value.Present&(1<<batch.Time) == 0 {
		return 0
	}
	ahead := func(r int) bool {
		if is.Kinds[r] != batch.Bool || is.Bits[r] == 0 || value.Kinds[r] != batch.Time {
			return false
		}
		_, dropped := g.Marks([]batch.Mark{{Watermark: int64(value.Bits[r])}}, now)
		return dropped > 0
	}
	any := false
	for r := range b.N {
		any = any || ahead(r)
	}
	if !any { // mostly; an explicit selection would cost every reader
		return 0
	}
	from := len(b.Bad)
	for _, r := range b.Select() {
		if w := int64(value.Bits[r]); ahead(int(r)) {
			b.Refuse(int(r), watermark.CodeTooFarAhead, fmt.Sprintf("the marker's watermark %s is further ahead of the clock than max_ahead (%s)", watermark.FormatTime(w), g.Limit))
			b.Times[r] = batch.NoTimestamp
		}
	}
	b.Narrow(from)
	return int64(len(b.Bad) - from)
}

// callAll goes on with what came out of the jump guard: batches of any partition, since partitions can vouch for each other.
func (l *lane) callAll(ctx context.Context, batches []*batch.Batch) error {
	for _, b := range batches {
		if err := l.callBatch(ctx, &item{partition: b.Partition, batch: b}); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) callTick(ctx context.Context, partitions []uint32) error {
	if err := l.assigner.Tick(partitions); err != nil {
		return reason(ctx, err)
	}
	return send(ctx, l.assigned, &item{kind: tickItem, answered: true})
}

// wait takes the token of the worker that has the item.
func (l *lane) wait(ctx context.Context, it *item) error {
	if it.done == nil {
		return nil
	}
	select {
	case <-it.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
