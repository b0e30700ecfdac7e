package aggregate

import (
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Placement says where in an entry of a table the accumulators stand. The flag bits that fit are taken from a word of the owner's,
// which must leave them alone and clear them with the accumulators.
type Placement struct {
	First     int  // the entry's word where the accumulators begin
	FlagWord  int  // the entry's word that lends flag bits
	FlagShift uint // the lowest lent bit
	FlagBits  uint // how many; 0 = none
}

// Layout is all aggregates of one operator and where they stand in an entry.
//
// An entry is a run of words that begins at an offset of a table's memory: mem[at:]. Empty accumulators are zero.
type Layout struct {
	specs   []Spec
	accs    []accumulator
	adders  []adder // the same, those that can be added together as one
	outputs []output
	words   int
	place   Placement
	skipped []uint64
}

// slot is where one accumulator stands, relative to its entry.
type slot struct {
	word  uint32 // first word
	flag  uint32 // word of its flag bits
	shift uint8
	mask  uint64
}

func (s slot) flags(mem []uint64, at uint32) uint64 { return mem[at+s.flag] >> s.shift & s.mask }

func (s slot) setFlags(mem []uint64, at uint32, v uint64) {
	p := &mem[at+s.flag]
	*p = *p&^(s.mask<<s.shift) | v<<s.shift
}

// accumulator is what several results may share: avg(x) reads the same exact sum as sum(x).
//
// All methods that take rows or entries take many, so that the dynamic call is paid once for a run.
type accumulator interface {
	size() (words int, flagBits uint)
	put(s slot)
	bind(b *batch.Batch)
	adder
	// merge folds the entry src[srcAt[i]:] into dst[dstAt[i]:]. The source is only read.
	merge(dst []uint64, dstAt []uint32, dh *Heap, src []uint64, srcAt []uint32, sh *Heap)
	// encode appends the state; the same state gives the same bytes, whatever way it came about.
	encode(p []byte, mem []uint64, at uint32, h *Heap) []byte
	// decode fills an empty accumulator.
	decode(d *decoder, mem []uint64, at uint32, h *Heap)
	// release gives the blocks of an entry back to the heap; the words are cleared by the caller.
	release(mem []uint64, at uint32, h *Heap)
}

type adder interface {
	// add folds row rows[i] into the entry at at[i].
	add(mem []uint64, at, rows []uint32, h *Heap)
}

// output writes one result column, or two.
type output interface {
	// results writes the entries' results as cells row, row+1, … of the columns cols of b.
	results(b *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap)
}

// New checks the specs and lays them out with all flag bits in words of their own. The error joins one error for each mistake.
func New(specs []Spec) (*Layout, error) {
	if err := checkAll(specs); err != nil {
		return nil, err
	}
	return build(specs, Placement{}), nil
}

// Place returns an independent layout of the same aggregates for entries shaped by p. It belongs to one goroutine.
func (l *Layout) Place(p Placement) *Layout { return build(l.specs, p) }

func build(specs []Spec, p Placement) *Layout {
	l := &Layout{specs: specs, place: p, skipped: make([]uint64, len(specs))}
	parts := parts{layout: l, known: map[partKey]accumulator{}}
	for i, s := range specs {
		l.outputs = append(l.outputs, parts.output(s, &l.skipped[i]))
	}
	next, flagWord, shift, left := p.First, p.FlagWord, p.FlagShift, p.FlagBits
	for _, a := range l.accs {
		words, flagBits := a.size()
		if flagBits > left {
			// The lent bits are used up: a word of our own lends 64 more.
			flagWord, shift, left = next, 0, 64
			next++
		}
		a.put(slot{word: uint32(next), flag: uint32(flagWord), shift: uint8(shift), mask: 1<<flagBits - 1})
		next, shift, left = next+words, shift+flagBits, left-flagBits
	}
	l.words = next - p.First
	l.adders = fuse(l.accs)
	return l
}

// Words is the number of words from Placement.First on that the accumulators take.
func (l *Layout) Words() int { return l.words }

// Columns are the names of the result columns in order.
func (l *Layout) Columns() []string {
	var names []string
	for _, s := range l.specs {
		names = append(names, s.columns()...)
	}
	return names
}

// Args are the columns that the aggregates read, each once.
func (l *Layout) Args() []string {
	var args []string
	seen := map[string]bool{"": true}
	for _, s := range l.specs {
		for _, a := range append([]string{s.Arg}, s.Args...) {
			if !seen[a] {
				seen[a] = true
				args = append(args, a)
			}
		}
	}
	return args
}

// OrderMatters is true when merging the same accumulators in another grouping may give another result: for top beyond its bound.
// Whoever merges must then do it in one fixed way. It is true for kept rows as well: merged sets of them are as large as their parts
// together, so that keeping any beside the parts would only cost memory.
func (l *Layout) OrderMatters() bool {
	for _, s := range l.specs {
		if s.Func == "top" || s.Func == RowsFunc {
			return true
		}
	}
	return false
}

// Skipped counts, for each spec, the cells that were not null but that its function cannot take, since the layout was placed.
// Aggregates that share an accumulator count a cell once, at the first of them.
func (l *Layout) Skipped() []uint64 { return l.skipped }

// Bind resolves the columns of b for the Adds that follow. b must outlive them and must have Times if any aggregate orders by time;
// without Times all rows count as simultaneous.
func (l *Layout) Bind(b *batch.Batch) {
	for _, a := range l.accs {
		a.bind(b)
	}
}

// Add folds row rows[i] of the bound batch into the entry at mem[at[i]:], in order; an entry may appear several times.
func (l *Layout) Add(mem []uint64, at, rows []uint32, h *Heap) {
	if len(at) == 0 {
		return
	}
	for _, a := range l.adders {
		a.add(mem, at, rows, h)
	}
}

// Merge folds entry srcAt[i] of src into entry dstAt[i] of dst. Where ties are broken by arrival, the destination's rows count as the
// older ones. The entries of src are only read; both sides must have this layout.
func (l *Layout) Merge(dst []uint64, dstAt []uint32, dh *Heap, src []uint64, srcAt []uint32, sh *Heap) {
	if len(dstAt) == 0 {
		return
	}
	for _, a := range l.accs {
		a.merge(dst, dstAt, dh, src, srcAt, sh)
	}
}

// Results writes the results of entries as cells row, row+1, … of the columns first, first+1, … of b, which must be there in the
// order of Columns and long enough. Texts go to b.Extra.
func (l *Layout) Results(b *batch.Batch, first, row int, mem []uint64, at []uint32, h *Heap) {
	for i, o := range l.outputs {
		n := len(l.specs[i].columns())
		o.results(b, b.Columns[first:first+n], row, mem, at, h)
		first += n
	}
}

// version is the format of encoded accumulators.
const version = 1

// Encode appends the state of an entry. Equal states give equal bytes.
func (l *Layout) Encode(p []byte, mem []uint64, at uint32, h *Heap) []byte {
	p = append(p, version)
	for _, a := range l.accs {
		p = a.encode(p, mem, at, h)
	}
	return p
}

// Decode fills an empty entry from the front of p, and returns what follows in p.
func (l *Layout) Decode(p []byte, mem []uint64, at uint32, h *Heap) (rest []byte, err error) {
	d := &decoder{p: p}
	if v := d.byte(); d.err == nil && v != version {
		d.fail("version %d, this program knows %d", v, version)
	}
	for _, a := range l.accs {
		if d.err != nil {
			return nil, d.err
		}
		a.decode(d, mem, at, h)
	}
	return d.p, d.err
}

// Clear empties an entry and gives its blocks back to the heap.
func (l *Layout) Clear(mem []uint64, at uint32, h *Heap) {
	for _, a := range l.accs {
		a.release(mem, at, h)
	}
	clear(mem[int(at)+l.place.First:][:l.words])
	if l.place.FlagBits > 0 {
		mem[int(at)+l.place.FlagWord] &^= (1<<l.place.FlagBits - 1) << l.place.FlagShift
	}
}
