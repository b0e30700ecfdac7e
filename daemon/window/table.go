package window

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
)

// table holds one pane's keys and their accumulators: open addressing with linear probing over entries of a fixed stride in one
// slice, without pointers. With a key of up to 16 bytes and the usual aggregates an entry is one cache line:
//
//	word 0     header, 0 = free: length of the key + 1 (bits 0-4, longKey for keys in the arena), tag (5-8), marks (9-15), the low 16
//	           bits of the hash (16-31), flag bits of the accumulators (32-63)
//	word 1, 2  the key's bytes, little endian, zero beyond its end; of long keys: place and length in the arena, and the hash
//	word 3…    a counter of late results where the operator asks for it, then the accumulators
//
// An entry's home is its hash's place in the range of hashes that the operator sees (a shard's), scaled to the number of slots. So
// the slots are in the order of hashes, but for what probing has moved by a few places: firing reads one run of memory and has next to
// nothing to sort, and when tables are merged both are walked in the same direction. There is no wrapping around: some slots
// follow behind the last home, and a table that fills them grows.
type table struct {
	mem    []uint64
	stride int
	homes  int // slots that are somebody's home
	n      int // keys
	limit  int // keys at which it grows

	ranges // of the hashes that homes are made for
	factor uint64
	moves  int // counts how often entries have moved, so that whoever holds offsets can see it

	arena []byte // keys of more than 16 bytes
	heap  aggregate.Heap

	dirty []uint32 // entries that have changed since the last snapshot
	late  []uint32 // entries with late rows that have not been emitted
}

// ranges is a span of key groups. Shards own neighbouring groups, but an operator is not told which, so its tables find out.
type ranges struct {
	first, last uint64 // groups
	any         bool
}

func (r *ranges) has(hash uint64) bool {
	return hash>>groupShift-r.first <= r.last-r.first && r.any
}

// widen takes in the group of a hash and, on that side, as many more as there are already: entries move when the range widens, and so
// that happens a few times only.
func (r *ranges) widen(hash uint64) {
	g, span := hash>>groupShift, r.last-r.first+1
	switch {
	case !r.any:
		r.first, r.last, r.any = g, g, true
	case g < r.first:
		r.first = min(g, r.first-min(span, r.first))
	case g > r.last:
		r.last = max(g, min(r.last+span, rowkey.Groups-1))
	}
}

// join takes in another range.
func (r *ranges) join(o ranges) {
	switch {
	case !r.any:
		*r = o
	case o.any:
		r.first, r.last = min(r.first, o.first), max(r.last, o.last)
	}
}

const (
	groupShift = 57 // rowkey.Groups is 1<<7
	keyWord    = 1
	inlineSize = 16
	longKey    = inlineSize + 2

	lengthMask = 1<<5 - 1
	tagShift   = 5
	tagMask    = 1<<4 - 1
	dirtyMark  = 1 << 9  // stands in table.dirty
	lateMark   = 1 << 10 // stands in table.late
	bornLate   = 1 << 11 // its first row came after the window's end
	// identity is what the header of an entry and of a row with the same key have in common.
	identity = lengthMask | tagMask<<tagShift | 0xffff<<16
)

// compositeCode stands for rowkey.Composite in the four bits of a header's tag.
const compositeCode = 15

func tagCode(tag uint8) uint64 {
	if tag == rowkey.Composite {
		return compositeCode
	}
	return uint64(tag)
}

func codeTag(code uint64) uint8 {
	if code == compositeCode {
		return rowkey.Composite
	}
	return uint8(code)
}

// headerOf is the identity of a key.
func headerOf(hash uint64, tag uint8, size int) uint64 {
	length := uint64(size + 1)
	if size > inlineSize {
		length = longKey
	}
	return length | tagCode(tag)<<tagShift | hash&0xffff<<16
}

// keyWords are the bytes of a key of at most 16 bytes.
func keyWords(b []byte) (lo, hi uint64) {
	switch n := len(b); {
	case n >= 8:
		// The last eight bytes, without those that are in lo already; a shift by 64 gives 0.
		return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:]) >> (128 - 8*uint(n))
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*uint(n-4)), 0
	default:
		for i := n - 1; i >= 0; i-- {
			lo = lo<<8 | uint64(b[i])
		}
		return lo, 0
	}
}

// home is the offset of the first entry to look at. The hash must be in the table's ranges.
func (t *table) home(hash uint64) uint32 {
	return home(hash-t.first<<groupShift, t.factor) * uint32(t.stride)
}

// home is the slot of a hash, counted from the lowest one of the table's ranges.
func home(fromFirst, factor uint64) uint32 {
	slot, _ := bits.Mul64(fromFirst, factor)
	return uint32(slot)
}

// open empties the table and gives it room for n keys whose hashes are in r. It uses its memory again, unless that is far too large.
func (t *table) open(stride, n int, r ranges) {
	t.stride = stride
	t.arena = t.arena[:0]
	t.heap.Reset()
	t.shape(n, r, t.mem)
}

// shape makes room for n keys, in mem if it is large enough and not far too large.
func (t *table) shape(n int, r ranges, mem []uint64) {
	// At most four sevenths are taken. Then two of three keys stand in their home, and nearly all others one slot behind it. (With ten
	// entries for seven keys a row cost a tenth more, with two for each key a twentieth less.)
	t.homes = max(n*7/4+1, 32)
	t.limit = t.homes * 4 / 7
	slots := t.homes + 16 + t.homes/64
	words := slots * t.stride
	if uint64(words) > math.MaxUint32 {
		panic("window: the state of one pane in one shard has more than four billion words; use more shards")
	}
	if cap(mem) >= words && cap(mem) <= reusable(words) {
		mem = mem[:words]
		clear(mem)
	} else {
		mem = make([]uint64, words)
	}
	t.mem, t.n, t.ranges = mem, 0, r
	t.factor = 0
	if r.any {
		t.factor = uint64(t.homes) * rowkey.Groups / (r.last - r.first + 1)
	}
	t.moves++
	t.dirty, t.late = t.dirty[:0], t.late[:0]
}

// reusable is how much memory a table of so many words may have. Small ones are worth more in being there; of large ones, most of which have grown
// by doubling, too much is too much.
func reusable(words int) int {
	if words >= largeWords {
		return words + words/2
	}
	return min(8*words+1<<12, largeWords+largeWords/2)
}

// largeWords makes a table a large one: 8 MiB.
const largeWords = 1 << 20

// groups is about the range of the groups that the table has keys of.
func (t *table) groups() ranges {
	if t.n == 0 {
		return ranges{}
	}
	low, high := 0, len(t.mem)-t.stride
	for t.mem[low] == 0 {
		low += t.stride
	}
	for t.mem[high] == 0 {
		high -= t.stride
	}
	a, b := t.hashOf(t.mem, uint32(low))>>groupShift, t.hashOf(t.mem, uint32(high))>>groupShift
	return ranges{min(a, b), max(a, b), true} // keys of neighbouring groups may have one home, and stand there as they came
}

// grow makes room for n keys with hashes in r. Offsets of entries change.
func (t *table) grow(n int, r ranges) {
	old, count := t.mem, t.n
	t.shape(n, r, nil)
	t.n = count
	for e := 0; e < len(old); e += t.stride {
		if old[e] == 0 {
			continue
		}
		entry := old[e : e+t.stride]
		at := t.home(t.hashOf(old, uint32(e)))
		for t.mem[at] != 0 {
			at += uint32(t.stride)
			if int(at) == len(t.mem) {
				// Improbable: the slots behind the last home are full. With more slots it is even less probable.
				t.mem, t.n = old, count
				t.grow(2*n, r)
				return
			}
		}
		copy(t.mem[at:], entry)
		if entry[0]&dirtyMark != 0 {
			t.dirty = append(t.dirty, at)
		}
		if entry[0]&lateMark != 0 {
			t.late = append(t.late, at)
		}
	}
}

// reserve makes sure that n more keys find room; the caller holds no offsets.
func (t *table) reserve(n int) {
	if t.n+n > t.limit {
		more := t.n
		if len(t.mem) >= 2*largeWords {
			more /= 2 // the memory that stays free is more than the copying is worth
		}
		t.grow(t.n+max(more, n), t.ranges)
	}
}

// hashOf is the hash of the key of an entry of mem, which may be the table's memory before it grew.
func (t *table) hashOf(mem []uint64, at uint32) uint64 {
	h := mem[at]
	if h&lengthMask == longKey {
		return mem[at+keyWord+1]
	}
	var buf [inlineSize]byte
	return rowkey.Hash(codeTag(h>>tagShift&tagMask), t.keyOf(mem, at, &buf))
}

// key returns the key of an entry; short ones are written into buf.
func (t *table) key(at uint32, buf *[inlineSize]byte) (tag uint8, key []byte) {
	return codeTag(t.mem[at] >> tagShift & tagMask), t.keyOf(t.mem, at, buf)
}

func (t *table) keyOf(mem []uint64, at uint32, buf *[inlineSize]byte) []byte {
	length := mem[at] & lengthMask
	lo, hi := mem[at+keyWord], mem[at+keyWord+1]
	if length == longKey {
		off, n := lo>>32, lo&0xffffffff
		return t.arena[off : off+n : off+n]
	}
	binary.LittleEndian.PutUint64(buf[:8], lo)
	binary.LittleEndian.PutUint64(buf[8:], hi)
	return buf[:length-1]
}

// include makes the hash one that the table has a home for.
func (t *table) include(hash uint64) {
	if !t.has(hash) {
		r := t.ranges
		r.widen(hash)
		t.grow(max(t.n, t.limit), r)
	}
}

// at finds the entry of a key, or makes it. Entries may have moved when fresh is true.
func (t *table) at(hash uint64, tag uint8, key []byte) (at uint32, fresh bool) {
	t.include(hash)
	t.reserve(1)
	header := headerOf(hash, tag, len(key))
	var lo, hi uint64
	if len(key) <= inlineSize {
		lo, hi = keyWords(key)
	}
	return t.probe(t.home(hash), hash, header, lo, hi, key)
}

// find is at for a key that may be missing, and then stays so.
func (t *table) find(hash uint64, tag uint8, key []byte) (at uint32, ok bool) {
	if t.n == 0 || !t.has(hash) {
		return 0, false
	}
	header := headerOf(hash, tag, len(key))
	var lo, hi uint64
	if len(key) <= inlineSize {
		lo, hi = keyWords(key)
	}
	for at = t.home(hash); int(at) < len(t.mem) && t.mem[at] != 0; at += uint32(t.stride) {
		if t.is(at, hash, header, lo, hi, key) {
			return at, true
		}
	}
	return 0, false
}

// is compares an entry's key.
func (t *table) is(at uint32, hash, header, lo, hi uint64, key []byte) bool {
	e := t.mem[at : at+3 : at+3]
	if (e[0]^header)&identity != 0 {
		return false
	}
	if header&lengthMask != longKey {
		return e[1] == lo && e[2] == hi
	}
	off, n := e[1]>>32, e[1]&0xffffffff
	return e[2] == hash && string(t.arena[off:off+n]) == string(key)
}

// probe goes on from an entry until it has found the key or a place for it. There must be room.
func (t *table) probe(at uint32, hash, header, lo, hi uint64, key []byte) (found uint32, fresh bool) {
	stride := uint32(t.stride)
	for t.mem[at] != 0 {
		if t.is(at, hash, header, lo, hi, key) {
			return at, false
		}
		at += stride
		if int(at) == len(t.mem) {
			t.grow(2*max(t.n, t.limit), t.ranges)
			at = t.home(hash)
		}
	}
	if header&lengthMask == longKey {
		lo, hi = uint64(len(t.arena))<<32|uint64(len(key)), hash
		t.arena = append(t.arena, key...)
	}
	t.mem[at], t.mem[at+1], t.mem[at+2] = header, lo, hi
	t.n++
	return at, true
}

// copy makes the table equal to another one. Marks are copied and mean nothing here.
func (t *table) copy(src *table) {
	if cap(t.mem) < len(src.mem) || cap(t.mem) > reusable(len(src.mem)) {
		t.mem = make([]uint64, len(src.mem))
	}
	t.mem = t.mem[:len(src.mem)]
	copy(t.mem, src.mem)
	t.stride, t.homes, t.n, t.limit, t.ranges, t.factor = src.stride, src.homes, src.n, src.limit, src.ranges, src.factor
	t.arena = append(t.arena[:0], src.arena...)
	t.heap.Copy(&src.heap)
	t.dirty, t.late = t.dirty[:0], t.late[:0]
	t.moves++
}

// adopt finds or makes the entry for the key of an entry of another table. The hash must be in the ranges, and there must be room.
func (t *table) adopt(src *table, e uint32) uint32 {
	hash, header := src.hashOf(src.mem, e), src.mem[e]&identity
	var at uint32
	if header&lengthMask == longKey {
		at, _ = t.probe(t.home(hash), hash, header, 0, 0, src.keyOf(src.mem, e, nil))
	} else {
		at, _ = t.probe(t.home(hash), hash, header, src.mem[e+keyWord], src.mem[e+keyWord+1], nil)
	}
	return at
}

// mark sets a mark in an entry's header and reports whether it was not set before.
func (t *table) mark(at uint32, mark uint64) bool {
	if t.mem[at]&mark != 0 {
		return false
	}
	t.mem[at] |= mark
	return true
}

// orderDirty puts dirty in the order of the entries, which is that of hashes but for what probing has moved. Where many entries have changed,
// walking over all of them is quicker than sorting those.
func (t *table) orderDirty() {
	if len(t.dirty)*8*t.stride < len(t.mem) {
		slices.Sort(t.dirty)
		return
	}
	dirty := t.dirty[:0]
	for e := 0; e < len(t.mem); e += t.stride {
		if t.mem[e]&dirtyMark != 0 {
			dirty = append(dirty, uint32(e))
		}
	}
	t.dirty = dirty
}

// touch notes that an entry differs from what the last snapshot has.
func (t *table) touch(at uint32) {
	if t.mark(at, dirtyMark) {
		t.dirty = append(t.dirty, at)
	}
}
