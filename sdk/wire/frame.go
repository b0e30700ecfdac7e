package wire

import (
	"encoding/binary"

	"google.golang.org/grpc/mem"
)

// frame writes one protobuf message as a list of buffers: small things go to head, large vectors stay where they are and are only pointed
// to. So the memory of a sent frame, and of what it points to, must not change until the other side has got it; see [ring].
type frame struct {
	head  []byte
	parts []part
	size  int
	out   mem.BufferSlice
	// Vectors that had to be built for this frame.
	u64   [][]uint64
	used  int
	u32   []uint32
	kinds [][]byte
	usedK int
	i64   []int64
	text  []byte
	text2 []byte
}

// part is a piece of the message: head[from:to], or outside bytes.
type part struct {
	from, to int
	outside  []byte
}

// copyBelow is the size up to which copying into head is cheaper than a buffer of its own.
const copyBelow = 512

func (f *frame) reset() {
	f.head, f.parts, f.size = f.head[:0], f.parts[:0], 0
	f.used, f.usedK, f.text, f.text2 = 0, 0, f.text[:0], f.text2[:0]
}

func tag(field, wireType int) uint64 { return uint64(field)<<3 | uint64(wireType) }

const (
	varintType = 0
	bytesType  = 2
)

func (f *frame) uvarint(v uint64) {
	n := len(f.head)
	f.head = binary.AppendUvarint(f.head, v)
	f.size += len(f.head) - n
}

// number writes a varint field; zero is left out, as in proto3.
func (f *frame) number(field int, v uint64) {
	if v != 0 {
		f.uvarint(tag(field, varintType))
		f.uvarint(v)
	}
}

// bytes writes a bytes, string or message field; empty ones are left out.
func (f *frame) bytes(field int, b []byte) {
	if len(b) > 0 {
		f.uvarint(tag(field, bytesType))
		f.uvarint(uint64(len(b)))
		f.raw(b)
	}
}

func (f *frame) raw(b []byte) {
	f.size += len(b)
	if len(b) <= copyBelow {
		f.head = append(f.head, b...)
		return
	}
	f.cut()
	f.parts = append(f.parts, part{outside: b})
}

func (f *frame) text_(field int, s string) {
	if s != "" {
		f.uvarint(tag(field, bytesType))
		f.uvarint(uint64(len(s)))
		f.head = append(f.head, s...)
		f.size += len(s)
	}
}

// cut closes the open piece of head.
func (f *frame) cut() {
	from := 0
	for i := len(f.parts) - 1; i >= 0; i-- {
		if f.parts[i].outside == nil {
			from = f.parts[i].to
			break
		}
	}
	if from < len(f.head) {
		f.parts = append(f.parts, part{from: from, to: len(f.head)})
	}
}

// buffers returns the message behind a header of its own: the field of the envelope that it stands in.
func (f *frame) buffers(field int) mem.BufferSlice {
	f.cut()
	f.out = f.out[:0]
	if field > 0 {
		n := len(f.head)
		f.head = binary.AppendUvarint(f.head, tag(field, bytesType))
		f.head = binary.AppendUvarint(f.head, uint64(f.size))
		f.out = append(f.out, mem.SliceBuffer(f.head[n:len(f.head):len(f.head)]))
	}
	for _, p := range f.parts {
		if p.outside != nil {
			f.out = append(f.out, mem.SliceBuffer(p.outside))
		} else {
			f.out = append(f.out, mem.SliceBuffer(f.head[p.from:p.to:p.to]))
		}
	}
	return f.out
}

// copyTo writes the message without a header into memory of its size.
func (f *frame) copyTo(memory []byte) {
	f.cut()
	for _, p := range f.parts {
		from := p.outside
		if from == nil {
			from = f.head[p.from:p.to]
		}
		memory = memory[copy(memory, from):]
	}
}

// sizeNumber and sizeBytes are what number and bytes will write.
func sizeNumber(field int, v uint64) int {
	if v == 0 {
		return 0
	}
	return sizeUvarint(tag(field, varintType)) + sizeUvarint(v)
}

func sizeBytes(field, n int) int {
	if n == 0 {
		return 0
	}
	return sizeUvarint(tag(field, bytesType)) + sizeUvarint(uint64(n)) + n
}

func sizeUvarint(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// ring gives frames in turn. A frame comes back after so many others that its message must have arrived: a source has no more than Credits
// batches on the way, and of the other streams there are no more than Credits unanswered messages.
type ring struct {
	frames [4 * Credits]frame
	at     int
	// Envelopes of what has gone another way, see finish: small frames, so that the large ones can be used again at once.
	placed [4 * Credits]frame
	turn   int
}

func (r *ring) next() *frame {
	r.at = (r.at + 1) % len(r.frames)
	f := &r.frames[r.at]
	f.reset()
	return f
}

// finish is the envelope of what f, the last frame of next, holds. If that has gone into shared memory, it only says where: then copied is
// true, f comes next again, and what it points to can be used again.
func (r *ring) finish(f *frame, field int, x *exchange, placed int) (out mem.BufferSlice, copied bool) {
	offset, length, ok := x.place(f)
	if !ok {
		return f.buffers(field), false
	}
	r.at = (r.at + len(r.frames) - 1) % len(r.frames)
	r.turn = (r.turn + 1) % len(r.placed)
	e := &r.placed[r.turn]
	e.reset()
	e.number(1, uint64(offset))
	e.number(2, uint64(length))
	return e.buffers(placed), true
}

// vector returns memory for n values that lasts as long as the frame.
func (f *frame) vector(n int) []uint64 {
	if f.used == len(f.u64) {
		f.u64 = append(f.u64, nil)
	}
	v := grow(f.u64[f.used], n)
	f.u64[f.used] = v
	f.used++
	return v
}

// kindVector does the same for the kinds of a column.
func (f *frame) kindVector(n int) []byte {
	if f.usedK == len(f.kinds) {
		f.kinds = append(f.kinds, nil)
	}
	v := grow(f.kinds[f.usedK], n)
	f.kinds[f.usedK] = v
	f.usedK++
	return v
}
