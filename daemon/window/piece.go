package window

import (
	"math"
	"math/bits"
)

// piece is what some panes have of a run of hashes, merged, whether it lies in memory or in the store. A window on disk fires piece by
// piece, so it is never in memory as a whole.
//
// Its table is flat: entries stand one behind the other as they come, and are found by walking both sides in the order of hashes. (All hashes of
// a piece have nearly the same home.)
type piece struct {
	t    table
	have firing // the entries, in the order of results
	more firing // those of the source that is being merged
	both firing
	dst  []uint32
	src  []uint32
}

// source is what a pane has in memory: its entries in the order of results, and how many of them the pieces so far had.
type source struct {
	list firing
	next int
}

const (
	pieceKeys  = 2 * OverflowRows // about so many keys make a piece
	pieceLimit = 4 * pieceKeys    // more than that, and it is cut again
	pieceBytes = 32 << 20         // and so are pieces with accumulators of so many bytes
)

func (c *piece) reset(stride int) {
	c.t.stride, c.t.n = stride, 0
	c.t.mem, c.t.arena = c.t.mem[:0], c.t.arena[:0]
	c.t.dirty, c.t.late = c.t.dirty[:0], c.t.late[:0]
	c.t.heap.Reset()
	c.have.empty()
}

func (f *firing) empty() { f.at, f.hash = f.at[:0], f.hash[:0] }

func (f *firing) push(at uint32, hash uint64) {
	f.at, f.hash = append(f.at, at), append(f.hash, hash)
}

// add appends an empty entry for a key.
func (c *piece) add(hash uint64, tag uint8, key []byte) uint32 {
	t := &c.t
	at := len(t.mem)
	for range t.stride {
		t.mem = append(t.mem, 0)
	}
	var lo, hi uint64
	if len(key) <= inlineSize {
		lo, hi = keyWords(key)
	} else {
		lo, hi = uint64(len(t.arena))<<32|uint64(len(key)), hash
		t.arena = append(t.arena, key...)
	}
	t.mem[at], t.mem[at+1], t.mem[at+2] = headerOf(hash, tag, len(key)), lo, hi
	t.n++
	return uint32(at)
}

// sameKey compares the keys of entries of two tables that have the same hash.
func sameKey(a *table, x uint32, b *table, y uint32) bool {
	if (a.mem[x]^b.mem[y])&identity != 0 {
		return false
	}
	if a.mem[x]&lengthMask != longKey {
		return a.mem[x+1] == b.mem[y+1] && a.mem[x+2] == b.mem[y+2]
	}
	return string(a.keyOf(a.mem, x, nil)) == string(b.keyOf(b.mem, y, nil))
}

// merge folds entries of a table into the piece; they come in the order of hashes, and are newer than what the piece has. Those of the
// piece's own table become part of it as they are.
func (c *piece) merge(p *panes, src *table, list firing) {
	own := src == &c.t
	if own && len(c.have.at) == 0 {
		c.have, c.more = list, c.have
		return
	}
	c.dst, c.src = c.dst[:0], c.src[:0]
	fresh := &c.both
	fresh.empty()
	k := 0
	var buf [inlineSize]byte
	for i, e := range list.at {
		hash := list.hash[i]
		for k < len(c.have.at) && c.have.hash[k] < hash {
			k++
		}
		found := false
		for j := k; j < len(c.have.at) && c.have.hash[j] == hash && !found; j++ {
			if sameKey(&c.t, c.have.at[j], src, e) {
				c.dst, c.src = append(c.dst, c.have.at[j]), append(c.src, e)
				found = true
			}
		}
		switch {
		case found:
		case own:
			fresh.push(e, hash)
		default:
			tag, key := src.key(e, &buf)
			to := c.add(hash, tag, key)
			fresh.push(to, hash)
			c.dst, c.src = append(c.dst, to), append(c.src, e)
		}
	}
	p.layout.Merge(c.t.mem, c.dst, &c.t.heap, src.mem, c.src, &src.heap)
	c.join(fresh)
}

// join puts other entries of the table in their places among those that the piece has.
func (c *piece) join(fresh *firing) {
	switch {
	case len(fresh.at) == 0:
		return
	case len(c.have.at) == 0:
		c.have, *fresh = *fresh, c.have
		return
	}
	i, k := len(c.have.at)-1, len(fresh.at)-1
	for range fresh.at {
		c.have.push(0, 0)
	}
	for to := len(c.have.at) - 1; k >= 0; to-- {
		if i >= 0 && (c.have.hash[i] > fresh.hash[k] || c.have.hash[i] == fresh.hash[k] && c.t.after(c.have.at[i], fresh.at[k])) {
			c.have.at[to], c.have.hash[to] = c.have.at[i], c.have.hash[i]
			i--
		} else {
			c.have.at[to], c.have.hash[to] = fresh.at[k], fresh.hash[k]
			k--
		}
	}
}

// inPieces calls fire for each piece of what the panes have together, in the order of hashes; the piece is in p.disk.piece. The panes are in the order of
// time, and with equal hashes of different keys results are in the order that they have in memory.
func (p *panes) inPieces(list []*pane, fire func(c *piece)) {
	d := &p.disk
	if !d.settle() {
		return
	}
	for len(d.sources) < len(list) {
		d.sources = append(d.sources, source{})
	}
	for i, n := range list {
		s := &d.sources[i]
		s.list.takeAll(&n.table)
		s.next = 0
	}
	at, last := d.store.Hashes()
	width := (last-at)/1024 + 1
	for d.err == nil {
		end := last
		if last-at >= width {
			end = at + width - 1
		}
		if !p.gather(list, at, end) {
			width = (end-at)/8 + 1
			continue
		}
		if d.err != nil {
			return
		}
		n := len(d.piece.have.at)
		if n > 0 {
			fire(&d.piece)
		}
		if end == last {
			break
		}
		at = end + 1
		width = nextWidth(width, n)
	}
	for i := range list { // else the lists would stay as large as the largest window
		if s := &d.sources[i]; cap(s.list.at) > pieceLimit {
			*s = source{}
		}
	}
}

// nextWidth makes the next piece one of about pieceKeys, after one of n.
func nextWidth(width uint64, n int) uint64 {
	hi, lo := bits.Mul64(width, pieceKeys)
	if n = max(n, pieceKeys/16); hi >= uint64(n) {
		return math.MaxUint64
	}
	next, _ := bits.Div64(hi, lo, uint64(n))
	return max(next, 1)
}

// gather merges what the panes have between two hashes. It is false when that is too much for a piece, and nothing has been taken.
func (p *panes) gather(list []*pane, first, last uint64) bool {
	d := &p.disk
	c := &d.piece
	c.reset(p.stride)
	small := func() bool {
		return c.t.n <= pieceLimit && (c.t.n%64 != 0 || c.t.heap.Size() <= pieceBytes) || first == last
	}
	for i, n := range list {
		if n.spilled {
			fits, err := p.gatherStored(n, first, last, small)
			if err != nil {
				d.err = err
				return true
			}
			if !fits {
				p.again(list[:i], first)
				return false
			}
		}
		s := &d.sources[i]
		from := s.next
		to := from
		for to < len(s.list.at) && s.list.hash[to] <= last {
			to++
		}
		if to-from > pieceLimit && first != last {
			p.again(list[:i+1], first)
			return false
		}
		s.next = to
		c.merge(p, &n.table, firing{s.list.at[from:to], s.list.hash[from:to]})
		if !small() {
			p.again(list[:i+1], first)
			return false
		}
	}
	return true
}

// gatherStored merges what the store has of a pane between two hashes, as long as the piece is small.
func (p *panes) gatherStored(n *pane, first, last uint64, small func() bool) (fits bool, err error) {
	c := &p.disk.piece
	found := c.more
	found.empty()
	fits = true
	var bad error
	err = p.disk.store.Scan(n.span.Start, first, last, func(hash uint64, key, value []byte) bool {
		var v storedEntry
		if v, bad = p.parse(n.span.Start, hash, key, value); bad != nil {
			return false
		}
		if n.whole > 0 {
			if e, ok := n.table.find(hash, v.tag, v.payload); ok && n.table.mem[e]&wholeMark != 0 {
				return true
			}
		}
		to := c.add(hash, v.tag, v.payload)
		if bad = p.fill(&c.t, to, n.span.Start, v); bad != nil {
			return false
		}
		found.push(to, hash)
		fits = small()
		return fits
	})
	c.more = found
	if err == nil {
		err = bad
	}
	if err != nil || !fits {
		return fits, err
	}
	c.inOrder(&found)
	c.merge(p, &c.t, found)
	return true, nil
}

// again sets the sources back to the first hash of a piece that was too large.
func (p *panes) again(list []*pane, first uint64) {
	for i := range list {
		s := &p.disk.sources[i]
		for s.next > 0 && s.list.hash[s.next-1] >= first {
			s.next--
		}
	}
}

// inOrder brings entries of the store with equal hashes, which come in the order of their tags, into the order of results.
func (c *piece) inOrder(f *firing) {
	for i := 1; i < len(f.at); i++ {
		for k := i; k > 0 && f.hash[k-1] == f.hash[k] && c.t.after(f.at[k-1], f.at[k]); k-- {
			f.at[k-1], f.at[k] = f.at[k], f.at[k-1]
		}
	}
}
