package window

import "math/bits"

// blobs is memory for byte strings of any length, which are found by handles, so that keeping millions of them costs the garbage
// collector nothing. A block has a power of two bytes; freed ones are used again for the same size.
type blobs struct {
	chunks [][]byte
	used   int // of the last chunk
	free   [33][]blob
}

// blob says where a string is: chunk and place in it, and its length.
type blob struct {
	chunk, at uint32
	size      uint32
}

const blobChunk = 1 << 16

func blobClass(size int) int { return max(4, bits.Len(uint(max(size, 1)-1))) }

// put stores a copy of p.
func (m *blobs) put(p []byte) blob {
	class := blobClass(len(p))
	if f := m.free[class]; len(f) > 0 {
		b := f[len(f)-1]
		m.free[class] = f[:len(f)-1]
		b.size = uint32(len(p))
		copy(m.chunks[b.chunk][b.at:], p)
		return b
	}
	n := 1 << class
	if len(m.chunks) == 0 || m.used+n > len(m.chunks[len(m.chunks)-1]) {
		m.chunks = append(m.chunks, make([]byte, max(n, blobChunk)))
		m.used = 0
	}
	b := blob{chunk: uint32(len(m.chunks) - 1), at: uint32(m.used), size: uint32(len(p))}
	m.used += n
	copy(m.chunks[b.chunk][b.at:], p)
	return b
}

// get is the bytes of b, which belong to m.
func (m *blobs) get(b blob) []byte { return m.chunks[b.chunk][b.at : b.at+b.size : b.at+b.size] }

func (m *blobs) remove(b blob) {
	class := blobClass(int(b.size))
	m.free[class] = append(m.free[class], b)
}
