package state

import "sync"

// chunkSize is the piece in which a Delta's arena grows. A growing slice would copy everything it holds each time it grows, in the
// pause of a checkpoint, and hold two copies meanwhile.
const chunkSize = 256 << 10

var chunkPool = sync.Pool{New: func() any { b := make([]byte, 0, chunkSize); return &b }}

// largePools keep chunks for single pieces that no other chunk has room for, by their size: four sizes to each doubling, from chunkSize up.
// Rows on their way to a sink come in such pieces, and new memory would be cleared for each.
var largePools [16]sync.Pool

// largeClass is the pool for n bytes, and their size; no pool has that much when class is negative.
func largeClass(n int) (class, size int) {
	base := chunkSize
	for class := 0; class < len(largePools); class += 4 {
		for step := 1; step <= 4; step++ {
			if size = base + step*base/4; n <= size {
				return class + step - 1, size
			}
		}
		base *= 2
	}
	return -1, n
}

// largeChunk is an empty chunk with room for n bytes at least.
func largeChunk(n int) *[]byte {
	if n <= chunkSize {
		return chunkPool.Get().(*[]byte)
	}
	class, size := largeClass(n)
	if class >= 0 {
		if b, ok := largePools[class].Get().(*[]byte); ok {
			return b
		}
	}
	b := make([]byte, 0, size)
	return &b
}

// arena holds bytes that stay where they are until reset. They are found again by numbers, so that an index over them has no pointers
// for the garbage collector to follow.
type arena struct {
	chunks []*[]byte // the last one is being filled, unless it is a single large piece
	size   int
}

// place finds room for n bytes and returns it, empty, with its number and offset.
func (a *arena) place(n int) (room []byte, chunk, offset uint32) {
	a.size += n
	if n > chunkSize/4 {
		// A large piece gets a chunk of its own, put before the one being filled.
		b := largeChunk(n)
		*b = (*b)[:n]
		at := len(a.chunks)
		a.chunks = append(a.chunks, b)
		return (*b)[:0:n], uint32(at), 0
	}
	c := a.filling(n)
	at := len(*c)
	*c = (*c)[:at+n]
	return (*c)[at : at : at+n], uint32(len(a.chunks) - 1), uint32(at)
}

// filling is a chunk with room for n bytes; it is the last one.
func (a *arena) filling(n int) *[]byte {
	if last := len(a.chunks) - 1; last >= 0 {
		if c := a.chunks[last]; cap(*c)-len(*c) >= n {
			return c
		}
	}
	c := chunkPool.Get().(*[]byte)
	*c = (*c)[:0]
	a.chunks = append(a.chunks, c)
	return c
}

// at returns n placed bytes.
func (a *arena) at(chunk, offset, n uint32) []byte {
	return (*a.chunks[chunk])[offset : offset+n : offset+n]
}

// reset gives the chunks back. Everything placed becomes invalid.
func (a *arena) reset() {
	for _, c := range a.chunks {
		if cap(*c) == chunkSize {
			*c = (*c)[:0]
			chunkPool.Put(c)
		} else if class, size := largeClass(cap(*c)); class >= 0 && size == cap(*c) {
			largePools[class].Put(c)
		}
	}
	clear(a.chunks)
	a.chunks, a.size = a.chunks[:0], 0
}
