package pipeline

import (
	"context"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// calls guards batches and calls the assigner.
func (l *lane) calls(ctx context.Context) error {
	var tick <-chan time.Time
	if l.rule == ingestionTime || l.rule == pluginTime && l.periodic && l.interval > 0 {
		t := l.clock.NewTicker(max(l.interval, time.Millisecond))
		defer t.Stop()
		tick = t.C()
	}
	var open []uint32 // partitions that have an instance
	for {
		var it *item
		select {
		case it = <-l.decoded:
		case id := <-l.requests:
			it = &item{kind: barrierItem, barrier: id}
		case <-tick:
			it = &item{kind: tickItem}
		case <-ctx.Done():
			return nil
		}
		if err := l.call(ctx, it, &open); err != nil {
			return quiet(ctx, err)
		}
	}
}

func (l *lane) call(ctx context.Context, it *item, open *[]uint32) error {
	assign := l.rule == pluginTime
	switch it.kind {
	case batchItem:
		if err := l.wait(ctx, it); err != nil {
			return err
		}
		if l.maxAhead.Limit > 0 {
			now := l.now()
			l.maxAhead.Apply(it.batch, now)
			it.batch.Marks, _ = l.maxAhead.Marks(it.batch.Marks, now)
		}
		if l.jumps != nil {
			return l.callAll(ctx, it.partition, l.jumps.Apply(it.batch, nil))
		}
		return l.callBatch(ctx, it)
	case addedItem:
		if assign {
			if err := l.assigner.AddPartition(it.partition, it.name, l.restored[it.name].assigner); err != nil {
				return err
			}
			*open = append(*open, it.partition)
		}
	case endedItem:
		if l.jumps != nil {
			if err := l.callAll(ctx, it.partition, l.jumps.End(it.partition, nil)); err != nil {
				return err
			}
		}
		if assign {
			if l.periodic && l.interval > 0 { // its last word
				if err := l.callTick(ctx, []uint32{it.partition}); err != nil {
					return err
				}
			}
			if err := l.assigner.RemovePartition(it.partition); err != nil {
				return err
			}
			kept := (*open)[:0]
			for _, p := range *open {
				if p != it.partition {
					kept = append(kept, p)
				}
			}
			*open = kept
		}
	case tickItem:
		if assign {
			if len(*open) == 0 {
				return nil
			}
			return l.callTick(ctx, *open)
		}
	case barrierItem:
		if l.jumps != nil {
			it.guard = l.jumps.Snapshot(nil)
		}
		if assign {
			if err := l.assigner.Barrier(it.barrier); err != nil {
				return err
			}
			it.answered = true
		}
	}
	return send(ctx, l.assigned, it)
}

func (l *lane) callBatch(ctx context.Context, it *item) error {
	if l.rule == pluginTime && it.batch.Alive() > 0 {
		if err := l.assigner.Assign(it.batch); err != nil {
			return err
		}
		it.answered = true
	}
	return send(ctx, l.assigned, it)
}

func (l *lane) callAll(ctx context.Context, partition uint32, batches []*batch.Batch) error {
	for _, b := range batches {
		if err := l.callBatch(ctx, &item{partition: partition, batch: b}); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) callTick(ctx context.Context, partitions []uint32) error {
	if err := l.assigner.Tick(partitions); err != nil {
		return err
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
