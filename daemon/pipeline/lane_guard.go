package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tidemark-stream/tidemark/daemon/watermark"
)

// The jump guard knows partitions by their numbers, which are those of one run; a checkpoint knows them by their names. So the names
// are stored beside the guard's own snapshot. After a restart the partitions of the snapshot have stand-in numbers, from the top
// down, until the source brings a partition of that name.

// guardSnapshot is the guard's state with the names of its partitions.
func (l *lane) guardSnapshot() []byte {
	ids := make([]uint32, 0, len(l.names))
	for id := range l.names {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	out := binary.AppendUvarint(nil, uint64(len(ids)))
	for _, id := range ids {
		out = binary.AppendUvarint(out, uint64(id))
		out = binary.AppendUvarint(out, uint64(len(l.names[id])))
		out = append(out, l.names[id]...)
	}
	return l.jumps.Snapshot(out)
}

// restoreGuard takes over what the last commit says about jumps.
func (l *lane) restoreGuard() error {
	if l.jumps == nil || len(l.guard) == 0 {
		return nil
	}
	damaged := fmt.Errorf("restore the partitions of confirm_jump: %w", watermark.ErrSnapshot)
	rest := l.guard
	next := func() (uint64, bool) {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return 0, false
		}
		rest = rest[n:]
		return v, true
	}
	count, ok := next()
	stored := map[uint32]uint32{}
	for ; ok && count > 0; count-- {
		id, found := next()
		size, sized := next()
		if !found || !sized || size > uint64(len(rest)) {
			return damaged
		}
		name := string(rest[:size])
		rest = rest[size:]
		stand := math.MaxUint32 - uint32(len(stored))
		stored[uint32(id)], l.away[name], l.names[stand] = stand, stand, name
	}
	if !ok {
		return damaged
	}
	if err := l.jumps.Restore(rest); err != nil {
		return err
	}
	l.jumps.Renumber(func(id uint32) (uint32, bool) {
		stand, ok := stored[id]
		return stand, ok
	})
	return nil
}

// guardAdded gives a partition that has come back what the guard knows about it.
func (l *lane) guardAdded(id uint32, name string) {
	if l.jumps == nil {
		return
	}
	if stand, ok := l.away[name]; ok {
		l.jumps.Renumber(func(old uint32) (uint32, bool) {
			if old == stand {
				return id, true
			}
			return old, true
		})
		delete(l.away, name)
		delete(l.names, stand)
	}
	l.names[id] = name
}

// endAway ends everything that the guard still holds when the source has ended, partitions that have not come back in this run
// included: their held rows come out as if they began and ended now.
func (l *lane) endAway(ctx context.Context) error {
	if l.jumps == nil {
		return nil
	}
	names := make([]string, 0, len(l.away))
	for name := range l.away {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		stand := l.away[name]
		l.places.add(l.number, stand, name)
		if err := l.call(ctx, &item{kind: addedItem, partition: stand, name: name}); err != nil {
			return err
		}
		if err := l.call(ctx, &item{kind: endedItem, partition: stand}); err != nil {
			return err
		}
	}
	return l.callAll(ctx, l.jumps.EndAll(nil))
}
