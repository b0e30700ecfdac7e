package window

import (
	"cmp"
	"slices"
)

// Spiller is an operator whose windows may take more room than memory has. What does not fit lies in the store, and only there.
type Spiller interface {
	Operator
	// Attach takes the place of Restore, before anything else is called: the operator reads from the store what it needs, when it needs
	// it. share is about how many bytes the operator should hold at most.
	Attach(s Store, share int64) error
	// Held is how many bytes of memory the windows take. It is cheap.
	Held() int64
	// Shrink, called before Snapshot, says that memory is short: what is over the share is left to the store by that Snapshot.
	Shrink()
	// Err is the first mistake of the store. After it the operator does nothing, and what it has emitted is of no use.
	Err() error
}

// Store is where an operator's entries lie, as of the last Snapshot, and of no other shard's. Its errors end the operator.
type Store interface {
	// Hashes is the range of the shard's hashes, both ends included.
	Hashes() (first, last uint64)
	// Times visits the times that there are entries of, ascending.
	Times(visit func(time int64)) error
	// Next is the lowest time, at or above from, that there are entries of.
	Next(from int64) (time int64, found bool, err error)
	// Scan visits the entries of a time with hashes in [first, last], in the order of hash and key, until visit returns false.
	Scan(time int64, first, last uint64, visit func(hash uint64, key, value []byte) bool) error
	// Get returns one entry. The value is valid until the next call.
	Get(time int64, hash uint64, key []byte) (value []byte, found bool, err error)
	// Settle returns when the others see what the last Snapshot has handed over.
	Settle() error
}

// disk is what an engine of panes has to know of its store.
//
// A pane on disk is all that the store has of it, and all that its table has: the table holds what has come since the last snapshot. Its
// entries are written as they are and merged with the store's when somebody reads them or the database is at it, so that a key is never read
// to be added to; since accumulators merge exactly, how rows were spread over commits shows in no result. Some entries are whole: a late row
// emits what its key has in all, so that is read from the store, stands in the table in the store's place, and replaces it.
type disk struct {
	store   Store
	err     error
	share   int64
	held    int64 // bytes of the tables, and of what was handed over of panes on disk
	handed  int64 // the latter
	stacks  int64 // bytes of the slider's tables, part of held
	short   bool  // Shrink was called
	pending bool  // something was handed over that Settle has not been called for
	ordered bool  // merging in another grouping would show: rows are added to whole entries only

	piece   piece
	sources []source
	key     []byte
}

// onDisk is a pane's.
type onDisk struct {
	spilled bool // the store may have keys that the table has not
	unread  bool // nobody has tried since the start whether it is small enough to be in memory
	marked  bool // the store may have late rows that have not been emitted
	whole   int  // entries of the table that stand for the store's
	size    int64
	changed int // entries that the last snapshot has written
}

// wholeMark is set in the table of a pane on disk.
const wholeMark = 1 << 12

var _ Spiller = (*panes)(nil)

// Small panes are read when the operator starts, as long as there are not many of them: that is quicker than to think about it. Larger
// ones are tried when they are needed, and those that are larger still stay where they are.
const (
	readAtStart = 1 << 16 // entries
	readAtTouch = 1 << 18
)

func (p *panes) Attach(s Store, share int64) error {
	d := &p.disk
	d.store, d.share, d.ordered = s, share, p.layout.OrderMatters()
	// Tables that had to find out which part of the hashes they get would widen beyond it, and crowd their keys in what is left.
	first, last := s.Hashes()
	p.ranges = ranges{first >> groupShift, last >> groupShift, true}
	var bad error
	err := s.Times(func(time int64) {
		slice, ok := p.cut.slice(time)
		if !ok || slice.span.Start != time {
			bad = cmp.Or(bad, errNoSuchPane(time))
			return
		}
		n := p.insert(len(p.list), slice)
		n.stored, n.spilled, n.unread = true, true, true
	})
	if err = cmp.Or(err, bad); err != nil {
		return err
	}
	left := p.fits(readAtStart)
	for _, n := range p.list {
		if left <= 0 {
			break
		}
		if !p.read(n, left) {
			break
		}
		left -= n.table.n
	}
	p.resume()
	return d.err
}

func (p *panes) Held() int64 { return p.disk.held }
func (p *panes) Shrink()     { p.disk.short = true }
func (p *panes) Err() error  { return p.disk.err }

// fits is a number of entries that take no more than a quarter of the share, at most so many.
func (p *panes) fits(most int) int {
	return int(min(int64(most), p.disk.share/4/int64(2*8*p.stride)))
}

// weigh notes how much memory a pane takes, after its table may have grown.
func (p *panes) weigh(n *pane) {
	if s := n.table.bytes(); s != n.size {
		p.disk.held += s - n.size
		n.size = s
	}
}

// bytes is the memory of a table.
func (t *table) bytes() int64 {
	return int64(8*cap(t.mem) + cap(t.arena) + t.heap.Size() + 4*(cap(t.dirty)+cap(t.late)))
}

// bytes is the memory of the slider's tables.
func (s *slider) bytes() int64 {
	n := s.back.bytes() + s.window.bytes()
	for _, list := range [...][]*suffix{s.front, s.mid, s.blocks, s.spare} {
		for _, part := range list {
			n += part.table.bytes()
		}
	}
	return n
}

// weighStacks does for the slider what weigh does for a pane.
func (p *panes) weighStacks() {
	s := p.slide.bytes()
	p.disk.held += s - p.disk.stacks
	p.disk.stacks = s
}

// handOver notes that an entry of a pane on disk was given to the snapshot, which keeps it in memory until the next one.
func (d *disk) handOver(key, value []byte) {
	const change = 80 // what a change takes beside its bytes, sorted
	n := int64(len(key) + len(value) + change)
	d.held += n
	d.handed += n
}

// settle makes sure that the store shows what was handed over.
func (d *disk) settle() bool {
	if d.err == nil && d.pending {
		d.err = d.store.Settle()
		d.pending = d.err != nil
	}
	return d.err == nil
}

// unload empties the table of a pane on disk; all it has was handed over.
func (p *panes) unload(n *pane) {
	t := &n.table
	n.marked = n.marked || len(t.late) > 0
	n.whole = 0
	if t.n > 0 {
		t.open(p.stride, t.n, t.ranges)
	}
	p.weigh(n)
}

// discard is unload that gives the memory back.
func (p *panes) discard(n *pane) {
	t := &n.table
	n.marked = n.marked || len(t.late) > 0
	n.whole, n.spilled = 0, true
	*t = table{stride: p.stride, ranges: t.ranges}
	p.weigh(n)
}

// moveOut leaves panes to the store until the rest is within the share. It comes behind a snapshot, which has everything that is in memory:
// so nothing is written for it. The panes that have changed least go first, and the largest of those.
func (p *panes) moveOut() {
	d := &p.disk
	d.short = false
	if d.held <= d.share {
		return
	}
	clear(p.spare)
	p.spare, p.keys = p.spare[:0], 0
	p.dropStacks()
	var order []*pane
	for _, n := range p.list {
		if n.size > 0 {
			order = append(order, n)
		}
	}
	slices.SortStableFunc(order, func(a, b *pane) int {
		return cmp.Or(cmp.Compare(a.activity(), b.activity()), cmp.Compare(b.size, a.size))
	})
	for _, n := range order {
		if d.held <= d.share {
			return
		}
		p.discard(n)
	}
}

// activity is the part of a pane's keys that the last snapshot has written. An empty table is mere memory and has none.
func (n *pane) activity() float64 {
	if n.table.n == 0 {
		return 0
	}
	return float64(n.changed) / float64(n.table.n)
}

// dropStacks gives the memory of the slider's tables back. The next window that fires without the disk builds them anew.
func (p *panes) dropStacks() {
	plain := p.slide.plain
	p.slide = slider{}
	p.slide.init(p)
	p.slide.plain = plain
	p.weighStacks()
}
