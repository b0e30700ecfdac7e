package pipeline

import (
	"context"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// emit sends what is prepared, in order.
func (l *lane) emit(ctx context.Context) error {
	for {
		select {
		case it := <-l.ready:
			if err := l.emitItem(ctx, it); err != nil {
				return quiet(ctx, err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *lane) emitItem(ctx context.Context, it *item) error {
	if err := l.wait(ctx, it); err != nil {
		return err
	}
	if it.kind != barrierItem {
		l.emitted.Add(1)
	}
	main := l.out[0]
	if it.batch != nil {
		for _, idle := range it.idle {
			if err := main.idle(idle); err != nil {
				return err
			}
		}
		return l.emitBatch(it)
	}
	if err := l.passed(it.position); err != nil {
		return err
	}
	switch it.kind {
	case addedItem:
		p := &partition{id: it.partition, name: it.name, position: l.gone[it.name].position, header: l.gone[it.name].header}
		if l.journal != nil && it.position != nil {
			p.position = it.position
		}
		l.partitions[it.partition] = p
		delete(l.gone, it.name)
	case endedItem:
		if p := l.partitions[it.partition]; p != nil {
			if it.position != nil {
				p.position = it.position
			}
			if l.journal == nil { // connections do not come again, and files do
				l.gone[p.name] = partitionState{position: p.position, watermark: batch.NoWatermark, ended: true}
			}
			delete(l.partitions, it.partition)
		}
		l.ended = append(l.ended, it.partition)
	case sourceEndItem, sourceStopItem:
		l.counts.Ended.Store(true)
		defer l.finished()
	case barrierItem:
		var snap laneSnapshot
		if !isProbe(it.barrier) {
			snap = l.snapshot(it)
		}
		if err := l.contribute(it.barrier, snap); err != nil {
			return err
		}
		if err := main.barrier(it.barrier); err != nil {
			return err
		}
		if err := l.letters.readers.barrier(it.barrier); err != nil {
			return err
		}
	}
	for _, idle := range it.idle {
		if err := main.idle(idle); err != nil {
			return err
		}
	}
	return nil
}

// passed notes the place in the journal that emit has come to.
func (l *lane) passed(position []byte) error {
	if l.journal == nil || len(position) == 0 {
		return nil
	}
	number, _, err := parseJournalPosition(position)
	l.journalAt = max(l.journalAt, number)
	return err
}

func (l *lane) emitBatch(it *item) error {
	b := it.batch
	if err := l.passed(b.Position); err != nil {
		return err
	}
	if p := l.partitions[it.partition]; p != nil && len(b.Position) > 0 {
		p.position = append(p.position[:0:0], b.Position...)
		p.header = b.Header
	}
	if n := len(b.Rejects) + len(b.Bad); n > 0 {
		l.counts.Rejected.Add(int64(n))
		if err := l.letters.refused(b); err != nil {
			return err
		}
		l.gather(it.partition, b)
	}
	l.counts.Out.Add(int64(b.Alive()))
	for _, p := range it.out {
		if err := p.send(); err != nil {
			return err
		}
	}
	b.Release()
	return nil
}

// snapshot is the lane's state at the place of a barrier.
func (l *lane) snapshot(it *item) laneSnapshot {
	s := laneSnapshot{partitions: map[string]partitionState{}, watermark: it.combined, guard: it.guard}
	if l.before != nil { // what is brought in again says nothing about how far the source is
		s.watermark, s.guard = l.before.watermark, l.before.guard
	}
	for name, p := range l.gone {
		s.partitions[name] = p
	}
	s.ended, l.ended = l.ended, nil
	s.refusals, l.refusals = l.refusals, nil
	if l.journal != nil {
		s.partitions[journalPartition] = partitionState{position: journalPosition(l.journalAt, 0), watermark: batch.NoWatermark}
		s.journalAt = l.journalAt
	}
	states := map[uint32][]byte{}
	for _, st := range it.states {
		states[st.Partition] = st.State
	}
	for id, p := range l.partitions {
		if p.name == replayPartition {
			continue
		}
		mark, ok := it.marks[id]
		if !ok {
			mark.watermark = batch.NoWatermark
		}
		s.partitions[p.name] = partitionState{position: p.position, header: p.header, assigner: states[id], watermark: mark.watermark, idle: mark.idle, marks: mark.guard}
		s.acks = append(s.acks, ack{id, p.position})
	}
	return s
}
