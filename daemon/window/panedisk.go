package window

import (
	"errors"
	"math"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
)

// fromDisk says that a window has panes on disk.
func (p *panes) fromDisk(w Span) bool {
	if p.disk.store == nil {
		return false
	}
	found := false
	for _, n := range p.of(w) {
		if p.spec.Type != Tumbling { // what fires once needs not be in memory for it
			p.touch(n)
		}
		found = found || n.spilled
	}
	return found
}

// of are the panes of a window that does not end with time.
func (p *panes) of(w Span) []*pane { return p.slide.between(w.Start, w.End) }

// fireDisk emits the on-time result of all keys of a window, piece by piece.
func (p *panes) fireDisk(w Span) {
	if p.disk.stacks > 0 {
		p.dropStacks() // they lack what the store has
	}
	r := result{span: w, watermark: p.watermark, timing: OnTime}
	p.inPieces(p.of(w), func(c *piece) {
		p.writer.addRun(r, &c.t, c.have.at)
		p.writer.segment(p.out.Place, w.MaxTimestamp(), w.End, len(c.have.at))
		p.overflow()
	})
}

// overflow lets the caller take out what there is when it is much.
func (p *panes) overflow() {
	if p.out.Overflow == nil || p.out.Results.N < OverflowRows {
		return
	}
	if !p.out.Overflow() {
		p.disk.err = ErrEnded
		return
	}
	p.writer.open(p.out)
}

// fireDiskLate is slider.fireLate where panes lie on disk.
func (p *panes) fireDiskLate(n *pane, row uint32, hash uint64, tag uint8, key []byte) {
	for end := n.firstEnd; maxTimestamp(end) <= p.watermark; {
		if !p.isLate(end) {
			w := Span{n.period, end}
			if p.spec.Type == Sliding {
				w.Start = subSaturating(end, p.spec.Size)
			}
			p.fireDiskKey(w, Late, hash, tag, key)
			p.writer.segment(row, 0, end, 1)
		}
		if end == n.lastEnd || p.disk.err != nil {
			return
		}
		end = addSaturating(end, p.spec.Slide)
	}
}

// fireDiskKey emits one key of a window, if it has rows, and returns the number of results.
func (p *panes) fireDiskKey(w Span, timing Timing, hash uint64, tag uint8, key []byte) int {
	d := &p.disk
	if !d.settle() {
		return 0
	}
	c := &d.piece
	c.reset(p.stride)
	to := [1]uint32{c.add(hash, tag, key)}
	found := false
	for _, n := range p.list {
		if !p.cut.contains(w, &n.slice) {
			continue
		}
		e, inTable := n.table.find(hash, tag, key)
		if n.spilled && !(inTable && n.table.mem[e]&wholeMark != 0) {
			d.key = append(append(d.key[:0], tag), key...)
			value, stored, err := d.store.Get(n.span.Start, hash, d.key)
			if err == nil && stored {
				var v storedEntry
				if v, err = p.parse(n.span.Start, hash, d.key, value); err == nil {
					from := [1]uint32{c.add(hash, tag, key)}
					err = p.fill(&c.t, from[0], n.span.Start, v)
					p.layout.Merge(c.t.mem, to[:], &c.t.heap, c.t.mem, from[:], &c.t.heap)
					found = true
				}
			}
			if err != nil {
				d.err = err
				return 0
			}
		}
		if inTable {
			from := [1]uint32{e}
			p.layout.Merge(c.t.mem, to[:], &c.t.heap, n.table.mem, from[:], &n.table.heap)
			found = true
		}
	}
	if !found {
		return 0
	}
	p.writer.addRun(result{span: w, watermark: p.watermark, timing: timing}, &c.t, to[:])
	return 1
}

// fireDiskEndOfTime is slider.fireEndOfTime where panes lie on disk. The end of time is seen by few, so it may be slow: each piece's keys are
// looked up again for each window.
func (p *panes) fireDiskEndOfTime() {
	var list []*pane
	for _, n := range p.list {
		if n.lastEnd == math.MaxInt64 {
			list = append(list, n)
		}
	}
	windows := p.slide.cutWindows()
	var keys []keyOf
	p.inPieces(list, func(c *piece) {
		keys = keys[:0]
		var buf [inlineSize]byte
		for i, e := range c.have.at {
			tag, key := c.t.key(e, &buf)
			keys = append(keys, keyOf{c.have.hash[i], tag, string(key)})
		}
		for _, k := range keys {
			for _, w := range windows {
				if rows := p.fireDiskKey(w, OnTime, k.hash, k.tag, []byte(k.key)); rows > 0 {
					p.writer.segment(p.out.Place, math.MaxInt64, math.MaxInt64, rows)
				}
			}
		}
		p.overflow()
	})
}

type keyOf struct {
	hash uint64
	tag  uint8
	key  string
}

// anyOnDisk says that there are panes on disk.
func (p *panes) anyOnDisk() bool {
	if p.disk.store == nil {
		return false
	}
	for _, n := range p.list {
		if n.spilled {
			return true
		}
	}
	return false
}

// readFirst makes the entries of rows whole, where accumulators that were merged would not be what rows added one by one give.
func (p *panes) readFirst(keys *rowkey.Keys, n *pane, rows []uint32) bool {
	for _, row := range rows {
		if _, ok := p.wholeEntry(n, keys.Hash[row], keys.Tag[row], keys.Bytes(int(row)), false); !ok {
			return false
		}
	}
	return true
}

// ErrEnded is the error of an operator whose results nobody wants any more.
var ErrEnded = errors.New("window: nobody takes the results")
