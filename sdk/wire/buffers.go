package wire

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// bufferPool is gRPC's memory for received frames. gRPC's own pool clears each buffer before it is filled, which is a seventh of what
// receiving costs; here nothing is sent that the other side must not see, and every buffer is filled before it is read.
type bufferPool struct{ classes [len(bufferSizes)]sync.Pool }

// The classes: small messages, gRPC's frames (16 KiB), and messages in one piece.
var bufferSizes = [...]int{512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}

// buffers is shared by all connections of the process, as their traffic comes in turns.
var buffers mem.BufferPool = &bufferPool{}

func (p *bufferPool) Get(length int) *[]byte {
	for i, size := range bufferSizes {
		if length > size {
			continue
		}
		if b, ok := p.classes[i].Get().(*[]byte); ok {
			*b = (*b)[:length]
			return b
		}
		b := make([]byte, length, size)
		return &b
	}
	b := make([]byte, length)
	return &b
}

func (p *bufferPool) Put(b *[]byte) {
	for i, size := range bufferSizes {
		if cap(*b) == size {
			p.classes[i].Put(b)
			return
		}
	}
}
