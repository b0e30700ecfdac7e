package wire

import (
	"unsafe"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Vectors are little endian on the wire and are sent and received as they lie in memory. Tidemark runs on little-endian machines only;
// see endian_big.go.

func bytesOfUint32(v []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*4)
}

func bytesOfUint64(v []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*8)
}

func bytesOfInt64(v []int64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*8)
}

func bytesOfKinds(v []batch.Kind) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// grow returns v with length n; what was in it is lost.
func grow[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}
