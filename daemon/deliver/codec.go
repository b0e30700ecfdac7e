package deliver

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// A chunk of rows in the store:
//
//	version | form | rows | form text:    trailer | lengths with trailer | data
//	                        form columns: times | columns | each: name, kinds (1 + kind for all, or 0 and one for each), cells
//
// Counts and lengths are uvarints, times the varint differences to the one before; a cell is its text with length, 8 bytes little
// endian, or nothing for null and missing ones.
const (
	chunkVersion = 1 // 2026: the first one
	formText     = 1
	formColumns  = 2
)

var errChunk = errors.New("damaged rows")

// appendChunk encodes the rows of b, all of them.
func appendChunk(dst []byte, b *batch.Batch) []byte {
	dst = append(dst, chunkVersion)
	if len(b.Offsets) > 0 {
		dst = append(dst, formText)
		dst = binary.AppendUvarint(dst, uint64(b.N))
		dst = append(dst, b.Trailer)
		for i := range b.N {
			dst = binary.AppendUvarint(dst, uint64(b.Offsets[i+1]-b.Offsets[i]))
		}
		return append(dst, b.Data[b.Offsets[0]:b.Offsets[b.N]]...)
	}
	dst = append(dst, formColumns)
	dst = binary.AppendUvarint(dst, uint64(b.N))
	last := int64(0)
	for _, t := range b.Times[:b.N] {
		dst = binary.AppendVarint(dst, t-last) // wraps around, and back when it is read
		last = t
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.Columns)))
	for i := range b.Columns {
		dst = appendColumn(dst, b, &b.Columns[i])
	}
	return dst
}

// chunkRoom is as long as the chunk of b can become.
func chunkRoom(b *batch.Batch) int {
	const number = binary.MaxVarintLen64
	room := 3 + 2*number
	if len(b.Offsets) > 0 {
		for i := range b.N {
			room += sizeUvarint(b.Offsets[i+1] - b.Offsets[i])
		}
		return room + int(b.Offsets[b.N]-b.Offsets[0])
	}
	room += number * b.N // times
	for i := range b.Columns {
		c := &b.Columns[i]
		room += number + len(c.Name) + 1 + b.N // kinds
		for r, k := range c.Kinds[:b.N] {
			switch k {
			case batch.Missing, batch.Null:
			case batch.String, batch.JSON:
				room += number + len(b.Text(c.Bits[r]))
			default:
				room += 8
			}
		}
	}
	return room
}

func sizeUvarint(v uint32) int { return (bits.Len32(v|1) + 6) / 7 }

func appendColumn(dst []byte, b *batch.Batch, c *batch.Column) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(c.Name)))
	dst = append(dst, c.Name...)
	if kind, ok := c.Uniform(); ok {
		dst = append(dst, 1+byte(kind))
	} else {
		dst = append(dst, 0)
		for _, k := range c.Kinds[:b.N] {
			dst = append(dst, byte(k))
		}
	}
	for i, k := range c.Kinds[:b.N] {
		switch k {
		case batch.Missing, batch.Null:
		case batch.String, batch.JSON:
			text := b.Text(c.Bits[i])
			dst = binary.AppendUvarint(dst, uint64(len(text)))
			dst = append(dst, text...)
		default:
			dst = binary.LittleEndian.AppendUint64(dst, c.Bits[i])
		}
	}
	return dst
}

// decodeChunk fills b, which must be empty. Everything is copied.
func decodeChunk(stored []byte, b *batch.Batch) error {
	r := chunkReader{rest: stored}
	if r.byte() != chunkVersion {
		return errChunk
	}
	form := r.byte()
	n := r.count(len(stored)) // a row takes a byte at least, of its time or length
	if r.bad {
		return errChunk
	}
	switch form {
	case formText:
		r.text(b, n)
	case formColumns:
		r.columns(b, n)
	default:
		return errChunk
	}
	if r.bad || len(r.rest) > 0 {
		return errChunk
	}
	return nil
}

// chunkReader takes a chunk apart; after the first mistake everything is zero.
type chunkReader struct {
	rest []byte
	bad  bool
}

func (r *chunkReader) text(b *batch.Batch, n int) {
	b.N, b.Trailer = n, r.byte()
	end := uint64(0)
	b.Offsets = append(b.Offsets, 0)
	for range n {
		length := r.uvarint()
		if end += length; length < uint64(b.Trailer) || length > math.MaxUint32 || end > math.MaxUint32 {
			r.fail()
			return
		}
		b.Offsets = append(b.Offsets, uint32(end))
	}
	b.Data = append(b.Data, r.take(end)...)
}

func (r *chunkReader) columns(b *batch.Batch, n int) {
	b.Grow(n)
	last := int64(0)
	for i := range b.Times {
		v, w := binary.Varint(r.rest)
		if w <= 0 {
			r.fail()
			return
		}
		r.rest = r.rest[w:]
		last += v
		b.Times[i] = last
	}
	for range r.count(len(r.rest)) {
		name := string(r.take(r.uvarint()))
		all := r.byte()
		if all == 0 && len(r.rest) < n || all > 1+byte(batch.Time) {
			r.fail()
		}
		if r.bad {
			return
		}
		c := b.AddColumn(name)
		var kinds []byte
		if all == 0 {
			kinds = r.take(uint64(n))
		}
		for i := range n {
			k := batch.Kind(all - 1)
			if kinds != nil {
				k = batch.Kind(kinds[i])
			}
			switch {
			case k > batch.Time:
				r.fail()
			case k <= batch.Null:
				c.Set(i, k, 0)
			case k == batch.String || k == batch.JSON:
				text := r.take(r.uvarint())
				c.Set(i, k, batch.ExtraRef(len(b.Extra), len(text)))
				b.Extra = append(b.Extra, text...)
			default:
				if v := r.take(8); v != nil {
					c.Set(i, k, binary.LittleEndian.Uint64(v))
				}
			}
			if r.bad {
				return
			}
		}
	}
}

func (r *chunkReader) fail() { r.rest, r.bad = nil, true }

func (r *chunkReader) byte() byte {
	v := r.take(1)
	if v == nil {
		return 0
	}
	return v[0]
}

func (r *chunkReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads a number of things of which there cannot be more than most.
func (r *chunkReader) count(most int) int {
	v := r.uvarint()
	if v > uint64(most) {
		r.fail()
		return 0
	}
	return int(v)
}

func (r *chunkReader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	v := r.rest[:n:n]
	r.rest = r.rest[n:]
	return v
}

// footprint is how many bytes of memory the rows of b hold, about.
func footprint(b *batch.Batch) int64 {
	size := len(b.Data) + len(b.Extra) + 4*len(b.Offsets) + 8*len(b.Times)
	return int64(size + 9*b.N*len(b.Columns))
}

// appendRows copies all rows of src behind those of dst. Both are of one form.
func appendRows(dst, src *batch.Batch) {
	if len(src.Offsets) == 0 {
		dst.AppendRows(src, 0, src.N)
		return
	}
	if len(dst.Offsets) == 0 {
		dst.Offsets = append(dst.Offsets, 0)
		dst.Trailer = src.Trailer
	}
	shift := uint32(len(dst.Data)) - src.Offsets[0]
	dst.Data = append(dst.Data, src.Data[src.Offsets[0]:src.Offsets[src.N]]...)
	for _, o := range src.Offsets[1 : src.N+1] {
		dst.Offsets = append(dst.Offsets, o+shift)
	}
	dst.N += src.N
}

// joins is true when the rows of src may be appended to dst.
func joins(dst, src *batch.Batch) bool {
	if (len(dst.Offsets) > 0) != (len(src.Offsets) > 0) || len(dst.Offsets) > 0 && dst.Trailer != src.Trailer || len(dst.Columns) != len(src.Columns) {
		return false
	}
	for i := range dst.Columns {
		if dst.Columns[i].Name != src.Columns[i].Name {
			return false
		}
	}
	return true
}
