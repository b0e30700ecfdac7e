package window

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
)

// touch is called before rows are added to a pane, or it is merged with others: if it has been left in the store since the start, and is small, it
// is read now.
func (p *panes) touch(n *pane) {
	if !n.unread {
		return
	}
	n.unread = false
	most := p.fits(readAtTouch)
	if p.disk.held > p.disk.share/2 {
		return
	}
	p.read(n, most)
}

// read brings a pane that has not been touched yet into memory, unless it has more than so many entries.
func (p *panes) read(n *pane, most int) bool {
	d := &p.disk
	if d.err != nil {
		return false
	}
	// The entries come in the order of their hashes, which is that of a table's slots: in a table that grew with them they would crowd at
	// its beginning. So they are collected first.
	c := &d.piece
	c.reset(p.stride)
	first, last := d.store.Hashes()
	var bad error
	err := d.store.Scan(n.span.Start, first, last, func(hash uint64, key, value []byte) bool {
		var v storedEntry
		if v, bad = p.parse(n.span.Start, hash, key, value); bad != nil {
			return false
		}
		at := c.add(hash, v.tag, v.payload)
		bad = p.fill(&c.t, at, n.span.Start, v)
		c.have.push(at, hash)
		return bad == nil && c.t.n <= most
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		d.err = err
		return false
	}
	fits := c.t.n <= most
	if fits {
		p.takeOver(n, c)
	}
	if cap(c.t.mem) > pieceLimit*p.stride {
		*c = piece{}
	}
	return fits
}

// takeOver makes a piece the table of a pane.
func (p *panes) takeOver(n *pane, c *piece) {
	t := &n.table
	t.open(p.stride, c.t.n, p.ranges)
	c.dst = c.dst[:0]
	for moves := -1; moves != t.moves; { // entries move when homes are used up
		moves, c.dst = t.moves, c.dst[:0]
		for _, e := range c.have.at {
			c.dst = append(c.dst, t.adopt(&c.t, e))
		}
	}
	p.layout.Merge(t.mem, c.dst, &t.heap, c.t.mem, c.have.at, &c.t.heap)
	for i, e := range c.have.at {
		to := c.dst[i]
		t.mem[to] |= c.t.mem[e] & bornLate
		if c.t.mem[e]&lateMark != 0 && t.mark(to, lateMark) {
			t.late = append(t.late, to)
		}
		if p.counts {
			t.mem[to+countWord] = c.t.mem[e+countWord]
		}
	}
	n.spilled, n.unread, n.marked = false, false, false
	p.weigh(n)
}

// decodeInto restores an entry that the table must not have yet.
func (p *panes) decodeInto(t *table, time int64, hash uint64, key, value []byte) error {
	v, err := p.parse(time, hash, key, value)
	if err != nil {
		return err
	}
	e, fresh := t.at(hash, v.tag, v.payload)
	if !fresh {
		return fmt.Errorf("window: the pane %d has one key twice", time)
	}
	if err := p.fill(t, e, time, v); err != nil {
		return err
	}
	return nil
}

// storedEntry is an entry of the store, but for its accumulators.
type storedEntry struct {
	tag     uint8
	payload []byte
	marks   byte
	count   uint64
	rest    []byte // the accumulators
}

// parse reads an entry of the store and checks what can be checked.
func (p *panes) parse(time int64, hash uint64, key, value []byte) (v storedEntry, err error) {
	if v, err = parseValue(value); err != nil {
		return v, err
	}
	if len(key) == 0 {
		return v, fmt.Errorf("window: damaged state of the pane %d", time)
	}
	v.tag, v.payload = key[0], key[1:]
	if rowkey.Hash(v.tag, v.payload) != hash || v.tag >= compositeCode && v.tag != rowkey.Composite {
		return v, fmt.Errorf("window: damaged state of the pane %d: the hash does not fit the key", time)
	}
	return v, nil
}

// parseValue reads what stands before the accumulators.
func parseValue(value []byte) (v storedEntry, err error) {
	d := stateReader{p: value}
	if version := d.byte(); version != paneVersion {
		return v, fmt.Errorf("window: stored state has version %d, this program knows %d", version, paneVersion)
	}
	v.marks = d.byte()
	if v.marks&storedCount != 0 {
		v.count = d.uvarint()
	}
	if d.bad || v.marks >= 2*storedCount {
		return v, fmt.Errorf("window: damaged state of a pane")
	}
	v.rest = d.p
	return v, nil
}

// fill gives an empty entry what the store has of it.
func (p *panes) fill(t *table, e uint32, time int64, v storedEntry) error {
	rest, err := p.layout.Decode(v.rest, t.mem, e, &t.heap)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes too many", len(rest))
	}
	if err != nil {
		return fmt.Errorf("window: the pane %d: %w", time, err)
	}
	if v.marks&storedBornLate != 0 {
		t.mem[e] |= bornLate
	}
	if v.marks&storedLate != 0 && t.mark(e, lateMark) {
		t.late = append(t.late, e)
	}
	if p.counts { // else nothing fires again any more, since the allowed lateness was taken away
		t.mem[e+countWord] = v.count
	}
	return nil
}

// wholeEntry finds or makes the entry of a key of a pane on disk, with all that the store has of it. late says that it is a late row's: whether the key
// is new is noted. The entry is marked as changed. It is not ok when the store fails.
func (p *panes) wholeEntry(n *pane, hash uint64, tag uint8, key []byte, late bool) (at uint32, ok bool) {
	d, t := &p.disk, &n.table
	at, fresh := t.at(hash, tag, key)
	t.touch(at)
	if t.mem[at]&wholeMark != 0 {
		return at, true
	}
	if !d.settle() {
		return at, false
	}
	d.key = append(append(d.key[:0], tag), key...)
	value, found, err := d.store.Get(n.span.Start, hash, d.key)
	if err != nil {
		d.err = err
		return at, false
	}
	if found {
		v, err := p.parse(n.span.Start, hash, d.key, value)
		if err == nil {
			err = p.putUnder(n, at, fresh, v)
		}
		if err != nil {
			d.err = err
			return at, false
		}
	} else if fresh && late {
		t.mem[at] |= bornLate
	}
	t.mem[at] |= wholeMark
	n.whole++
	return at, true
}

// putUnder puts what the store has under the rows that an entry has, which came later.
func (p *panes) putUnder(n *pane, at uint32, fresh bool, v storedEntry) error {
	t := &n.table
	if fresh {
		return p.fill(t, at, n.span.Start, v)
	}
	c := &p.disk.piece
	c.reset(p.stride)
	one := [1]uint32{c.add(0, v.tag, v.payload)}
	if err := p.fill(&c.t, one[0], n.span.Start, v); err != nil {
		return err
	}
	own := [1]uint32{at}
	p.layout.Merge(c.t.mem, one[:], &c.t.heap, t.mem, own[:], &t.heap)
	p.layout.Clear(t.mem, at, &t.heap)
	p.layout.Merge(t.mem, own[:], &t.heap, c.t.mem, one[:], &c.t.heap)
	t.mem[at] |= c.t.mem[one[0]] & bornLate
	if c.t.mem[one[0]]&lateMark != 0 && t.mark(at, lateMark) {
		t.late = append(t.late, at)
	}
	if p.counts {
		t.mem[at+countWord] = c.t.mem[one[0]+countWord]
	}
	return nil
}

// readLate brings the entries with late rows that wait in the store into the table.
func (p *panes) readLate(n *pane) bool {
	if !n.marked || p.disk.err != nil {
		return p.disk.err == nil
	}
	d, t := &p.disk, &n.table
	if !d.settle() {
		return false
	}
	first, last := d.store.Hashes()
	var bad error
	err := d.store.Scan(n.span.Start, first, last, func(hash uint64, key, value []byte) bool {
		if len(value) < 2 || value[1]&storedLate == 0 {
			return true
		}
		var v storedEntry
		if v, bad = p.parse(n.span.Start, hash, key, value); bad != nil {
			return false
		}
		at, fresh := t.at(hash, v.tag, v.payload)
		if t.mem[at]&wholeMark == 0 {
			bad = p.putUnder(n, at, fresh, v)
			t.mem[at] |= wholeMark
			n.whole++
		}
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	d.err = err
	n.marked = false
	p.weigh(n)
	return err == nil
}

func errNoSuchPane(time int64) error {
	return fmt.Errorf("window: stored state has a pane that begins at %d, which these windows have not", time)
}
