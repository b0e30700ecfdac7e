package window

import (
	"encoding/binary"
	"math"
	"slices"
)

// What the engine of panes stores. One entry for each key and pane:
//
//	time   the pane's start, which no other pane has, not even where the end of time cuts them
//	hash   of the key
//	key    one byte tag, the key's payload
//	value  version, marks, the number of late results where _firing asks for it, accumulators
//
// The version is none of the general engine's, so that neither takes the other's entries for its own.
const paneVersion = 0x81

const (
	storedLate     = 1 << iota // has late rows that have not been emitted
	storedBornLate             // its first row came after the window's end
	storedCount                // a count of late results follows
)

// snapshotRun is about how many entries are brought into order together.
const snapshotRun = 1024

// Snapshot hands over the entries that have changed, in the order of time and hash, which is that of the store: each with its whole accumulators, but
// for those of panes on disk, which are merged with what the store has. A pane that has gone without ever having been written leaves no
// trace.
func (p *panes) Snapshot(w StateWriter) {
	for _, t := range p.dropped {
		w.DropTime(t)
	}
	p.dropped = p.dropped[:0]
	d := &p.disk
	d.held -= d.handed
	d.handed = 0
	for _, n := range p.list {
		t := &n.table
		n.changed = len(t.dirty)
		if len(t.dirty) == 0 {
			continue
		}
		n.stored, d.pending = true, true
		t.orderDirty()
		for rest := t.dirty; len(rest) > 0; {
			rest = p.fired.takeFirst(t, rest, snapshotRun)
			p.hand(w, n, &p.fired)
		}
		t.dirty = t.dirty[:0]
		if n.spilled {
			p.unload(n)
		}
	}
	if d.short {
		p.moveOut()
	}
}

// hand gives entries of a pane to a snapshot.
func (p *panes) hand(w StateWriter, n *pane, list *firing) {
	t := &n.table
	var buf [inlineSize]byte
	for i, e := range list.at {
		t.mem[e] &^= dirtyMark
		tag, key := t.key(e, &buf)
		p.encoded = append(append(p.encoded[:0], tag), key...)
		size := len(p.encoded)
		p.encoded = p.encode(p.encoded, t, e)
		key, value := p.encoded[:size:size], p.encoded[size:]
		if !n.spilled || t.mem[e]&wholeMark != 0 {
			w.Set(n.span.Start, list.hash[i], key, value)
		} else {
			w.Merge(n.span.Start, list.hash[i], key, value)
		}
		if n.spilled {
			p.disk.handOver(key, value)
		}
	}
}

func (p *panes) encode(dst []byte, t *table, e uint32) []byte {
	header := t.mem[e]
	var marks byte
	if header&lateMark != 0 {
		marks |= storedLate
	}
	if header&bornLate != 0 {
		marks |= storedBornLate
	}
	count := uint64(0)
	if p.counts {
		if count = t.mem[e+countWord]; count > 0 {
			marks |= storedCount
		}
	}
	dst = append(dst, paneVersion, marks)
	if count > 0 {
		dst = binary.AppendUvarint(dst, count)
	}
	return p.layout.Encode(dst, t.mem, e, &t.heap)
}

func (p *panes) Restore(time int64, hash uint64, key, value []byte) error {
	s, ok := p.cut.slice(time)
	if !ok || s.span.Start != time {
		return errNoSuchPane(time)
	}
	if _, err := p.parse(time, hash, key, value); err != nil {
		return err
	}
	n := p.restoredPane(s)
	n.stored = true
	if err := p.decodeInto(&n.table, time, hash, key, value); err != nil {
		return err
	}
	p.weigh(n)
	p.resume()
	return nil
}

// restoredPane is the pane of a stored entry. Entries come in order of time as a rule, but need not.
func (p *panes) restoredPane(s slice) *pane {
	i, ok := slices.BinarySearchFunc(p.list, s.span.Start, func(n *pane, start int64) int {
		switch {
		case n.span.Start < start:
			return -1
		case n.span.Start > start:
			return 1
		}
		return 0
	})
	if ok {
		return p.list[i]
	}
	return p.insert(i, s)
}

func (p *panes) RestoreWatermark(watermark int64) {
	p.watermark = watermark
	p.resume()
}

// resume sets the time at which collected late rows fire. It is the next moment for them above the watermark, as it was before: were
// it not above, they would have fired. Where nothing is collected any more (the setting was taken away) it is the next watermark.
func (p *panes) resume() {
	if p.watermark == math.MinInt64 {
		return
	}
	p.lateDue = notDue
	for _, n := range p.list {
		// Of a pane that nobody has read it is not known.
		n.marked = n.marked || n.unread && p.spec.Type == Tumbling && n.overAt() <= p.watermark
		if !n.marked && len(n.table.late) == 0 {
			continue
		}
		if p.spec.LateEvery > 0 {
			p.lateDue = p.lateFiring()
		} else {
			p.lateDue = addSaturating(p.watermark, 1)
		}
	}
}

// Live counts the pairs of a key and a window; of panes on disk those that are in memory, since nobody knows how many of them the store has too. Where windows share panes that takes a walk over all of them.
func (p *panes) Live() int {
	live := 0
	if p.spec.Type == Tumbling {
		for _, n := range p.list {
			live += n.table.n
		}
		return live
	}
	return p.slide.live()
}
