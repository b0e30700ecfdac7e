package aggregate

import (
	"math/bits"
	"unsafe"
)

// Heap holds the variable-size state of the entries of one table: blocks of words, found by handles that stand in the entries'
// words. It contains no pointers into itself, so that a table of millions of sets costs the garbage collector nothing.
//
// The zero value is ready. A Heap belongs to the goroutine of its table.
type Heap struct {
	chunks [][]uint64
	shared []uint32 // indexes of the chunks that are filled block by block
	chunk  int      // index in shared of the one that is being filled
	used   int      // words used of it
	free   [maxClass + 1][]handle
	inUse  int
	words  int // of the blocks that are in use
}

// handle says where a block is: size class + 1 in the top byte (so that no handle is zero), chunk in the next 24 bits, first word
// in the low 32. A block of class c has 1<<c words.
type handle uint64

const (
	chunkWords = 1 << 14
	maxClass   = 32
)

func (h handle) class() int { return int(h>>56) - 1 }

// Reset forgets all blocks and keeps the memory, but for that of large blocks.
func (h *Heap) Reset() {
	for i, c := range h.shared {
		h.chunks[i] = h.chunks[c]
		h.shared[i] = uint32(i)
	}
	clear(h.chunks[len(h.shared):])
	h.chunks = h.chunks[:len(h.shared)]
	h.chunk, h.used, h.inUse, h.words = 0, 0, 0, 0
	for i := range h.free {
		h.free[i] = h.free[i][:0]
	}
}

// Copy makes h equal to src: handles of src then mean the same in h. The memory is h's own.
func (h *Heap) Copy(src *Heap) {
	h.Reset()
	if src.inUse == 0 {
		return
	}
	spare := h.chunks
	h.chunks, h.shared = nil, append(h.shared[:0], src.shared...)
	for _, c := range src.chunks {
		var own []uint64
		if len(c) == chunkWords && len(spare) > 0 {
			own, spare = spare[0], spare[1:]
		} else {
			own = make([]uint64, len(c))
		}
		copy(own, c)
		h.chunks = append(h.chunks, own)
	}
	h.chunk, h.used, h.inUse, h.words = src.chunk, src.used, src.inUse, src.words
	for i := range h.free {
		h.free[i] = append(h.free[i][:0], src.free[i]...)
	}
}

// Size is the memory the heap has taken, in bytes.
func (h *Heap) Size() int {
	n := 0
	for _, c := range h.chunks {
		n += 8 * len(c)
	}
	return n
}

// Live is how much of it is in use, in bytes.
func (h *Heap) Live() int { return 8 * h.words }

// alloc returns a zeroed block of at least n words.
func (h *Heap) alloc(n int) handle {
	class := bits.Len(uint(max(n, 1) - 1))
	h.inUse++
	h.words += 1 << class
	if f := h.free[class]; len(f) > 0 {
		b := f[len(f)-1]
		h.free[class] = f[:len(f)-1]
		clear(h.block(b))
		return b
	}
	size := 1 << class
	if size > chunkWords/4 {
		// A large block gets a chunk of its own, so that it cannot waste the rest of an ordinary one.
		h.chunks = append(h.chunks, make([]uint64, size))
		return newHandle(class, len(h.chunks)-1, 0)
	}
	if h.chunk < len(h.shared) && h.used+size > chunkWords {
		h.chunk, h.used = h.chunk+1, 0
	}
	if h.chunk == len(h.shared) {
		h.shared = append(h.shared, uint32(len(h.chunks)))
		h.chunks = append(h.chunks, make([]uint64, chunkWords))
	}
	b := newHandle(class, int(h.shared[h.chunk]), h.used)
	h.used += size
	clear(h.block(b))
	return b
}

func newHandle(class, chunk, word int) handle {
	return handle(class+1)<<56 | handle(chunk)<<32 | handle(word)
}

// block is the memory of b. It stays valid until b is given back.
func (h *Heap) block(b handle) []uint64 {
	c := h.chunks[b>>32&0xffffff]
	w := int(b & 0xffffffff)
	return c[w : w+1<<b.class()]
}

// release gives a block back. The zero handle is ignored.
func (h *Heap) release(b handle) {
	if b == 0 {
		return
	}
	h.inUse--
	c := b.class()
	h.words -= 1 << c
	h.free[c] = append(h.free[c], b)
}

// grow moves a block's contents into a block of at least n words.
func (h *Heap) grow(b handle, n int) handle {
	if b != 0 && 1<<b.class() >= n {
		return b
	}
	nb := h.alloc(n)
	if b != 0 {
		copy(h.block(nb), h.block(b))
		h.release(b)
	}
	return nb
}

// Texts: word 0 is the length in bytes, the bytes follow.

// setText stores text, reusing the block that b names where it fits.
func (h *Heap) setText(b handle, text []byte) handle {
	n := 1 + (len(text)+7)/8
	if b == 0 || 1<<b.class() < n {
		h.release(b)
		b = h.alloc(n)
	}
	w := h.block(b)
	w[0] = uint64(len(text))
	copy(asBytes(w[1:]), text)
	return b
}

// text returns a stored text; the bytes are the heap's own.
func (h *Heap) text(b handle) []byte {
	w := h.block(b)
	return asBytes(w[1:])[:w[0]:w[0]]
}

// asBytes views words as bytes, for texts only: numbers are never read through it, so byte order does not matter.
func asBytes(w []uint64) []byte {
	if len(w) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
}
