package state

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// radixBits is the width of a digit: 2,048 counters fit the first-level cache.
const radixBits = 11

// item is what moves while sorting: the digits in work and the change they belong to.
type item struct {
	digits uint64
	ref    uint32
}

// sorter orders the changes of a Delta by their store keys. Its buffers are kept from commit to commit.
type sorter struct {
	items, spare []item
	untold       uint // bits of the hash that the digits left out
}

// inOrder says that the changes are in the order of their keys as they came, as shards that keep their tables by hash hand them over. Then nothing
// needs to be sorted, nor an index of them to be kept.
func (d *Delta) inOrder() bool {
	for i := 1; i < len(d.changes); i++ {
		if d.compare(uint32(i-1), uint32(i)) > 0 {
			return false
		}
	}
	return true
}

// order returns the changes of d in the order of their keys; changes of one key stay in the order they were made in. The result is
// valid until the next call.
//
// The keys' fields are numbers for a reason: least significant digit first, a million entries are put in order without one
// comparison of bytes. Only as many digits of the hash are used as are needed to make equal ones rare, and fields in which all
// entries agree (one operator, one pane) cost nothing; what ties is compared afterwards.
func (s *sorter) order(d *Delta) []item {
	n := len(d.changes)
	s.items = slices.Grow(s.items[:0], n)[:n]
	if n < 64 {
		for i := range s.items {
			s.items[i] = item{ref: uint32(i)}
		}
		slices.SortStableFunc(s.items, func(a, b item) int { return d.compare(a.ref, b.ref) })
		return s.items
	}
	var hashes, times, operators uint64 // bits in which entries differ
	first := &d.changes[0]
	for i := range d.changes {
		c := &d.changes[i]
		hashes |= c.hash ^ first.hash
		times |= c.time ^ first.time
		operators |= uint64(c.operator ^ first.operator)
		s.items[i] = item{digits: c.hash, ref: uint32(i)}
	}
	s.spare = slices.Grow(s.spare[:0], n)[:n]
	s.untold = s.field(hashes, bits.Len(uint(n))+8)
	if times|operators == 0 {
		s.settleHashes(d)
		return s.items
	}
	if times != 0 {
		for i := range s.items {
			s.items[i].digits = d.changes[s.items[i].ref].time
		}
		s.field(times, 64)
	}
	if operators != 0 {
		for i := range s.items {
			s.items[i].digits = uint64(d.changes[s.items[i].ref].operator)
		}
		s.field(operators, 64)
	}
	s.settleTies(d)
	return s.items
}

// settleHashes is settleTies for entries that have operator and time in common: the items hold all that is to be compared, except
// for equal hashes.
func (s *sorter) settleHashes(d *Delta) {
	for i := 1; i < len(s.items); i++ {
		if s.items[i-1].digits < s.items[i].digits {
			continue
		}
		to := i + 1
		for to < len(s.items) && s.items[to].digits>>s.untold == s.items[i].digits>>s.untold {
			to++
		}
		from := i - 1
		for from > 0 && s.items[from-1].digits>>s.untold == s.items[i].digits>>s.untold {
			from--
		}
		s.settle(d, from, to)
		i = to - 1
	}
}

// field sorts by the digits of the items, which differ in the bits of differ: by the highest want of these bits, rounded up to whole
// passes. It returns how many low bits it left out.
func (s *sorter) field(differ uint64, want int) (untold uint) {
	if differ == 0 {
		return 64
	}
	high, low := bits.Len64(differ), bits.TrailingZeros64(differ)
	passes := (min(want, high-low) + radixBits - 1) / radixBits
	from := max(low, high-passes*radixBits)
	for shift := from; shift < high; shift += radixBits {
		s.pass(uint(shift))
	}
	return uint(from)
}

// pass is one stable counting sort by one digit.
func (s *sorter) pass(shift uint) {
	var count [1 << radixBits]uint32
	const mask = 1<<radixBits - 1
	for i := range s.items {
		count[s.items[i].digits>>shift&mask]++
	}
	sum := uint32(0)
	for i := range count {
		sum, count[i] = sum+count[i], sum
	}
	for _, it := range s.items {
		at := &count[it.digits>>shift&mask]
		s.spare[*at] = it
		*at++
	}
	s.items, s.spare = s.spare, s.items
}

// settleTies puts neighbours in order that the digits did not tell apart. Entries that differ in operator or time are in order.
func (s *sorter) settleTies(d *Delta) {
	for from := 0; from < len(s.items); {
		to := from + 1
		for to < len(s.items) && d.compare(s.items[to-1].ref, s.items[to].ref) <= 0 {
			to++
		}
		if to == len(s.items) {
			return
		}
		// What items[to] should have stood before has the same operator and time and ties with it in the digits of the hash: the run
		// around it is short, unless hashes are not random.
		lo, hi := to, to+1
		for lo > 0 && s.tied(d, lo-1, to) {
			lo--
		}
		for hi < len(s.items) && s.tied(d, hi, to) {
			hi++
		}
		s.settle(d, lo, hi)
		from = hi - 1
	}
}

// settle puts a run of ties in order. Equal keys stay in the order of their changes.
func (s *sorter) settle(d *Delta, from, to int) {
	slices.SortFunc(s.items[from:to], func(a, b item) int {
		return cmp.Or(d.compare(a.ref, b.ref), cmp.Compare(a.ref, b.ref))
	})
}

// tied is true for items that the digits did not tell apart.
func (s *sorter) tied(d *Delta, i, j int) bool {
	a, b := &d.changes[s.items[i].ref], &d.changes[s.items[j].ref]
	return a.operator == b.operator && a.time == b.time && a.hash>>s.untold == b.hash>>s.untold
}

// compare is the order of the store keys of two changes.
func (d *Delta) compare(i, j uint32) int { return compareChanges(d, &d.changes[i], d, &d.changes[j]) }

func compareChanges(d *Delta, a *change, e *Delta, b *change) int {
	if c := cmp.Compare(a.operator, b.operator); c != 0 {
		return c
	}
	if c := cmp.Compare(a.time, b.time); c != 0 {
		return c
	}
	if c := cmp.Compare(a.hash, b.hash); c != 0 {
		return c
	}
	return bytes.Compare(d.key(a), e.key(b))
}
