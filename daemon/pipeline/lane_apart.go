package pipeline

import (
	"context"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// max_drift within a source: partitions that are too far ahead are held apart. It is the source that leaves them alone, since all partitions
// come in one stream, and whoever stopped reading that would stop the slow ones, too. What is on its way when a partition is held still
// comes; with wire.Credits and the lane's queues that is bounded. Which partitions are held shows in no result: it only moves the place of
// batches among those of other partitions.
//
// answers moves the partitions' watermarks and rouses holdApart, which tells the source: a plugin that does not listen must not keep
// answers from its work.

// heldApart is what a lane knows of partitions that it holds.
type heldApart struct {
	holder wire.Holder   // nil: the source cannot leave single partitions alone, or need not
	roused chan struct{} // something may have changed

	// resumed tells answers that a partition goes on: it may be the next one to fall idle.
	resumed chan struct{}

	// Guarded by lane.statusMu.
	held  map[uint32]bool
	ahead []uint32 // reused
	todo  []hold   // not yet told
}

type hold struct {
	partition uint32
	held      bool
}

// keepTogether makes the lane hold partitions apart, if the source can leave them alone.
func (l *lane) keepTogether(can bool) {
	h, ok := l.source.(wire.Holder)
	if l.align != nil && can && ok {
		l.apart = heldApart{holder: h, roused: make(chan struct{}, 1), resumed: make(chan struct{}, 1), held: map[uint32]bool{}}
	}
}

// rouse has holdApart look again.
func (l *lane) rouse() {
	if l.apart.holder == nil {
		return
	}
	select {
	case l.apart.roused <- struct{}{}:
	default:
	}
}

// realign decides anew which partitions are held, and returns what is closed when the other sources' share in that may have changed. l.statusMu
// is held.
func (l *lane) realign(now int64) (changed <-chan struct{}) {
	a := &l.apart
	ceiling, changed, off := l.align.limits()
	a.ahead = a.ahead[:0]
	if !off {
		a.ahead = l.combine.Ahead(l.align.drift, ceiling, a.ahead)
	}
	kept := 0
	for _, id := range a.ahead {
		if a.held[id] {
			kept++
			continue
		}
		a.held[id] = true
		a.todo = append(a.todo, hold{id, true})
		l.combine.Hold(id, now)
		kept++
	}
	if kept == len(a.held) {
		return changed
	}
	for id := range a.held {
		if slices.Contains(a.ahead, id) {
			continue
		}
		delete(a.held, id)
		a.todo = append(a.todo, hold{id, false})
		if !l.held { // else it goes on with the others, see hold
			l.combine.Resume(id, now)
			select {
			case a.resumed <- struct{}{}:
			default:
			}
		}
	}
	return changed
}

// tellHolds tells the source what has changed.
func (l *lane) tellHolds() (changed <-chan struct{}, err error) {
	l.statusMu.Lock()
	changed = l.realign(l.now())
	todo := l.apart.todo
	l.apart.todo = nil
	l.statusMu.Unlock()
	for _, h := range todo {
		if err := l.apart.holder.Hold(h.partition, h.held); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// holdApart keeps the source's partitions together until ctx is done.
func (l *lane) holdApart(ctx context.Context) error {
	for {
		changed, err := l.tellHolds()
		if err != nil {
			return quiet(ctx, err)
		}
		select {
		case <-l.apart.roused:
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}
