package wire

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/mem"
)

// reader reads a protobuf message that lies in several buffers. Lengths are checked against what is there before memory is taken.
type reader struct {
	bufs mem.BufferSlice
	cur  []byte
	left int // bytes in cur and behind it

	scratch []byte
}

var errGarbage = errors.New("malformed message")

func (r *reader) open(bufs mem.BufferSlice) {
	r.bufs, r.cur, r.left = bufs, nil, bufs.Len()
}

// at lets r stand at the beginning of a message that lies in one piece.
func (r *reader) at(message []byte) { r.bufs, r.cur, r.left = nil, message, len(message) }

// fill makes cur non-empty; left must be above 0.
func (r *reader) fill() {
	for len(r.cur) == 0 {
		r.cur = r.bufs[0].ReadOnlyData()
		r.bufs = r.bufs[1:]
	}
}

func (r *reader) uvarint() (uint64, error) {
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if r.left == 0 {
			return 0, io.ErrUnexpectedEOF
		}
		if len(r.cur) == 0 {
			r.fill()
		}
		b := r.cur[0]
		r.cur, r.left = r.cur[1:], r.left-1
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if shift == 63 && b > 1 {
				return 0, errGarbage
			}
			return v, nil
		}
	}
	return 0, errGarbage
}

// field reads the next tag; for bytes fields also the length, which fits into what is left.
func (r *reader) field() (number, wireType, length int, err error) {
	t, err := r.uvarint()
	if err != nil {
		return 0, 0, 0, err
	}
	number, wireType = int(t>>3), int(t&7)
	if number == 0 || t>>3 > 1<<29-1 {
		return 0, 0, 0, errGarbage
	}
	if wireType == bytesType {
		n, err := r.uvarint()
		if err != nil {
			return 0, 0, 0, err
		}
		if n > uint64(r.left) {
			return 0, 0, 0, io.ErrUnexpectedEOF
		}
		length = int(n)
	}
	return number, wireType, length, nil
}

// copy fills dst with the next bytes; there are so many.
func (r *reader) copy(dst []byte) {
	r.left -= len(dst)
	for len(dst) > 0 {
		if len(r.cur) == 0 {
			r.cur = r.bufs[0].ReadOnlyData()
			r.bufs = r.bufs[1:]
		}
		n := copy(dst, r.cur)
		dst, r.cur = dst[n:], r.cur[n:]
	}
}

// bytes reads length bytes into memory, reusing it.
func (r *reader) bytes(memory []byte, length int) []byte {
	memory = grow(memory, length)
	r.copy(memory)
	return memory
}

func (r *reader) text(length int) string {
	b := make([]byte, length)
	r.copy(b)
	return string(b)
}

// name is text that is probably the same as last time: then no memory is taken.
func (r *reader) name(length int, last string) string {
	r.scratch = r.bytes(r.scratch, length)
	if string(r.scratch) == last {
		return last
	}
	return string(r.scratch)
}

// skip passes over the value of a field that is not known.
func (r *reader) skip(wireType, length int) error {
	switch wireType {
	case varintType:
		_, err := r.uvarint()
		return err
	case 1:
		length = 8
	case 5:
		length = 4
	case bytesType:
	default:
		return errGarbage
	}
	if length > r.left {
		return io.ErrUnexpectedEOF
	}
	r.left -= length
	for length > 0 {
		if len(r.cur) == 0 {
			r.cur = r.bufs[0].ReadOnlyData()
			r.bufs = r.bufs[1:]
		}
		n := min(length, len(r.cur))
		r.cur, length = r.cur[n:], length-n
	}
	return nil
}

// message reads the fields of a message of that length: each is given to take, which returns false for those it does not know.
func (r *reader) message(length int, take func(number, wireType, length int) (bool, error)) error {
	end := r.left - length
	for r.left > end {
		number, wireType, n, err := r.field()
		if err != nil {
			return err
		}
		if r.left-n < end {
			return io.ErrUnexpectedEOF
		}
		known, err := take(number, wireType, n)
		if err == nil && !known {
			err = r.skip(wireType, n)
		}
		if err != nil {
			return fmt.Errorf("field %d: %w", number, err)
		}
	}
	if r.left < end {
		return errGarbage
	}
	return nil
}
