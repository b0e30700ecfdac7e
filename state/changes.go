package state

import (
	"bytes"
	"slices"
	"sync"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// span is a half-open run of store keys to be removed.
type span struct{ start, end []byte }

// changeSet is what a commit amounts to: one change a key, in the order of the keys, and removals of runs that come before all of them.
// It reads the Deltas it was made from.
type changeSet struct {
	spans   []span // ascending, not touching
	meta    []metaChange
	cursors []cursor
	drops   map[pane][]drop // by pane; before counts over all Deltas, see position
	resets  map[uint32]int  // by operator: the changes before that position are gone
	folds   *folds

	entries int // upper bounds of what will be written
	bytes   int
}

// pane names all entries of an operator with one time.
type pane struct {
	operator uint32
	time     uint64
}

// cursor walks over one Delta's changes in the order of their keys.
type cursor struct {
	delta *Delta
	items []item // nil: the changes are in order as they are
	next  int    // place of the head in that order
	base  int    // number of changes of the Deltas before this one

	warm    int  // so many from the head on were touched
	touched byte // makes the touching count
}

// ref is the number of the change at the head.
func (c *cursor) ref() int {
	if c.items == nil {
		return c.next
	}
	return int(c.items[c.next].ref)
}

func (c *cursor) head() *change { return &c.delta.changes[c.ref()] }

// advance goes to the next change; false means that there is none.
//
// Going through a large Delta in the order of hashes means a cache miss for each change and another for its bytes. Touching them
// some dozens at a time, with nothing else in between, lets the processor wait for many of them at once.
func (c *cursor) advance() bool {
	c.next++
	if c.warm--; c.warm <= 0 && c.items != nil {
		c.touch()
	}
	return c.next < len(c.delta.changes)
}

func (c *cursor) touch() {
	ahead := c.items[c.next:min(c.next+64, len(c.items))]
	sum := byte(0)
	for _, it := range ahead {
		sum += byte(c.delta.changes[it.ref].op)
	}
	for _, it := range ahead {
		at := &c.delta.changes[it.ref]
		chunk := *c.delta.arena.chunks[at.chunk]
		sum += chunk[at.offset] + chunk[at.offset+at.keyLen+at.valueLen-1]
	}
	c.warm, c.touched = len(ahead), c.touched+sum
}

// collect sorts the Deltas, side by side, and works out what they remove.
func collect(deltas []*Delta, sorters []sorter, folds *folds) *changeSet {
	cs := &changeSet{folds: folds}
	cursors := make([]cursor, len(deltas))
	var wg sync.WaitGroup
	for i, d := range deltas {
		wg.Go(func() {
			cursors[i] = cursor{delta: d}
			if !d.inOrder() {
				cursors[i].items = sorters[i].order(d)
				cursors[i].touch()
			}
		})
	}
	wg.Wait()
	base := 0
	for i, d := range deltas {
		cursors[i].base = base
		for _, p := range d.drops {
			if cs.drops == nil {
				cs.drops = map[pane][]drop{}
			}
			p.before += base
			at := pane{p.operator, p.time}
			cs.drops[at] = append(cs.drops[at], p)
		}
		for _, r := range d.resets {
			if cs.resets == nil {
				cs.resets = map[uint32]int{}
			}
			cs.resets[r.operator] = base + r.before
		}
		base += len(d.changes)
		if len(d.changes) > 0 {
			cs.cursors = append(cs.cursors, cursors[i])
		}
		cs.bytes += d.Size()
	}
	cs.spans, cs.meta = collectMeta(deltas)
	cs.spans = join(append(cs.spans, cs.dropSpans()...))
	cs.entries = base + len(cs.meta) + len(cs.spans)
	return cs
}

// dropSpans is the runs of keys that dropped panes and operators occupy.
func (cs *changeSet) dropSpans() []span {
	var out []span
	for at, drops := range cs.drops {
		for _, d := range drops {
			start, end := keys.PaneBounds(at.operator, keys.UnflipTime(at.time), d.hashes)
			out = append(out, span{start, end})
		}
	}
	for operator := range cs.resets {
		start, end := keys.OperatorBounds(operator)
		out = append(out, span{start, end})
	}
	return out
}

// collectMeta reduces meta changes to the last one of each key, ordered, and the runs removed.
func collectMeta(deltas []*Delta) ([]span, []metaChange) {
	var spans []span
	last := map[string]metaChange{}
	for _, d := range deltas {
		for _, m := range d.meta {
			if m.end == nil {
				last[string(m.key)] = m
				continue
			}
			if bytes.Compare(m.key, m.end) >= 0 {
				continue
			}
			spans = append(spans, span{m.key, m.end})
			for k := range last {
				if k >= string(m.key) && k < string(m.end) {
					delete(last, k)
				}
			}
		}
	}
	meta := make([]metaChange, 0, len(last))
	for _, m := range last {
		meta = append(meta, m)
	}
	slices.SortFunc(meta, func(a, b metaChange) int { return bytes.Compare(a.key, b.key) })
	return spans, meta
}

// join puts spans in order and makes one of those that touch: a table file wants them apart.
func join(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(a.start, b.start) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && bytes.Compare(s.start, out[n-1].end) <= 0 {
			if bytes.Compare(s.end, out[n-1].end) > 0 {
				out[n-1].end = s.end
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// target takes the changes of a set in order: the spans, then the keys, ascending, each once. Slices are valid during the call only.
type target interface {
	deleteRange(start, end []byte) error
	set(key, value []byte) error
	merge(key, value []byte) error
	delete(key []byte) error
}

// writeTo hands everything to t.
func (cs *changeSet) writeTo(t target) error {
	for _, s := range cs.spans {
		if err := t.deleteRange(s.start, s.end); err != nil {
			return err
		}
	}
	for _, m := range cs.meta { // the meta space comes before the state space
		var err error
		if m.remove {
			err = t.delete(m.key)
		} else {
			err = t.set(m.key, m.value)
		}
		if err != nil {
			return err
		}
	}
	return cs.writeState(t)
}

func (cs *changeSet) writeState(t target) error {
	r := reducer{target: t, folds: cs.folds}
	var at pane
	drops := cs.drops[at]
	for len(cs.cursors) > 0 {
		c, delta, position := cs.next()
		if cs.drops != nil && (at != pane{c.operator, c.time}) {
			at = pane{c.operator, c.time}
			drops = cs.drops[at]
		}
		before, dropped := cs.resets[c.operator]
		dead := position < before
		for _, d := range drops {
			if d.hashes.Contains(c.hash) {
				dropped = true
				dead = dead || position < d.before
			}
		}
		if dead {
			continue
		}
		if err := r.add(delta, c, dropped); err != nil {
			return err
		}
	}
	return r.flush()
}

// next takes the lowest change. Of equal keys, those of earlier Deltas come first.
func (cs *changeSet) next() (c *change, delta *Delta, position int) {
	best := 0
	for i := 1; i < len(cs.cursors); i++ {
		a, b := &cs.cursors[best], &cs.cursors[i]
		if compareChanges(b.delta, b.head(), a.delta, a.head()) < 0 {
			best = i
		}
	}
	cur := &cs.cursors[best]
	c, delta, position = cur.head(), cur.delta, cur.base+cur.ref()
	if !cur.advance() {
		cs.cursors = slices.Delete(cs.cursors, best, best+1)
	}
	return c, delta, position
}

// reducer makes one change of the changes of a key, which it gets one after the other, oldest first.
type reducer struct {
	target target
	folds  *folds

	key, value []byte
	op         operation
	any        bool
	acc, spare []byte
}

// add takes the next change. dropped says that what the store holds of this key is removed by the same commit.
func (r *reducer) add(d *Delta, c *change, dropped bool) error {
	op, key, value := c.op, d.key(c), d.value(c)
	if !r.any || !bytes.Equal(r.key, key) {
		if err := r.flush(); err != nil {
			return err
		}
		if op == opMerge && dropped {
			op = opSet // nothing is left in the store to merge with
		}
		r.any, r.key, r.value, r.op = true, key, value, op
		return nil
	}
	switch {
	case op != opMerge: // the last Set or Delete stands
		r.value, r.op = value, op
	case r.op == opDelete:
		r.value, r.op = value, opSet
	default: // into the Set or Merge before it
		next, err := combine(r.spare[:0], r.folds.of(key), r.value, value)
		if err != nil {
			return err
		}
		r.acc, r.spare = next, r.acc
		r.value = r.acc
	}
	return nil
}

func (r *reducer) flush() error {
	if !r.any {
		return nil
	}
	r.any = false
	switch r.op {
	case opSet:
		return r.target.set(r.key, r.value)
	case opMerge:
		return r.target.merge(r.key, r.value)
	}
	return r.target.delete(r.key)
}
