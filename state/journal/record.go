package journal

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// A payload is a kind byte and what belongs to it. Numbers are varints (zigzag where they may be negative), texts have their length
// before them. Kinds are never renumbered.
//
//	1  batch: partition, rows, trailer, unit, base, position, lengths of the rows with trailer, data,
//	   number of rejects and each (after, code, message, length, data), 0 | 1 + times (differences), number of marks and each (after, watermark)
//	2  event: the caller's bytes
//	3  batch of kind 1, and behind it for each reject 0 | 1 + position: written where a position is known
const (
	kindBatch  = 1
	kindEvent  = 2
	kindPlaced = 3
)

var errPayload = errors.New("journal: damaged record")

// appendBatch encodes what a source hands over. Columns and what decode does later are not part of it.
func appendBatch(dst []byte, b *batch.Batch) []byte {
	kind := byte(kindBatch)
	for _, r := range b.Rejects {
		if r.HasPosition {
			kind = kindPlaced
		}
	}
	dst = append(dst, kind)
	dst = binary.AppendUvarint(dst, uint64(b.Partition))
	dst = binary.AppendUvarint(dst, uint64(b.N))
	dst = append(dst, b.Trailer, byte(b.Unit))
	dst = binary.AppendVarint(dst, b.Base)
	dst = appendText(dst, b.Position)
	for i := range b.N {
		dst = binary.AppendUvarint(dst, uint64(b.Offsets[i+1]-b.Offsets[i]))
	}
	data := b.Data[:0]
	if b.N > 0 {
		data = b.Data[b.Offsets[0]:b.Offsets[b.N]]
	}
	dst = appendText(dst, data)
	dst = binary.AppendUvarint(dst, uint64(len(b.Rejects)))
	for _, r := range b.Rejects {
		dst = binary.AppendUvarint(dst, uint64(r.After))
		dst = appendText(dst, []byte(r.Code))
		dst = appendText(dst, []byte(r.Message))
		dst = binary.AppendVarint(dst, r.Length)
		dst = appendText(dst, r.Data)
	}
	if len(b.Times) == b.N && b.N > 0 {
		dst = append(dst, 1)
		last := int64(0)
		for _, t := range b.Times {
			dst = binary.AppendVarint(dst, t-last) // wraps around, and back when it is read
			last = t
		}
	} else {
		dst = append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.Marks)))
	for _, m := range b.Marks {
		dst = binary.AppendUvarint(dst, uint64(m.After))
		dst = binary.AppendVarint(dst, m.Watermark)
	}
	if kind == kindBatch {
		return dst
	}
	for _, r := range b.Rejects {
		if !r.HasPosition {
			dst = append(dst, 0)
			continue
		}
		dst = binary.AppendVarint(append(dst, 1), r.Position)
	}
	return dst
}

func appendText[T ~[]byte | ~string](dst []byte, s T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// decodeBatch fills b, which must be empty, from a payload behind its kind. Everything is copied.
func decodeBatch(kind byte, payload []byte, b *batch.Batch) error {
	d := decoder{rest: payload}
	b.Partition = uint32(d.limited(math.MaxUint32))
	// A row costs a byte of length at least, which bounds what a damaged count can make us allocate.
	n := int(d.limited(uint64(len(payload))))
	b.N = n
	b.Trailer = d.byte()
	b.Unit = batch.PositionUnit(d.byte())
	if b.Unit > batch.ByteOffset {
		return errPayload
	}
	b.Base = d.varint()
	b.Position = append(b.Position, d.text()...)
	end := uint64(0)
	b.Offsets = append(b.Offsets, 0)
	for range n {
		length := d.limited(math.MaxUint32)
		if length < uint64(b.Trailer) {
			return errPayload
		}
		if end += length; end > math.MaxUint32 || d.bad {
			return errPayload
		}
		b.Offsets = append(b.Offsets, uint32(end))
	}
	b.Data = append(b.Data, d.text()...)
	if uint64(len(b.Data)) != end {
		return errPayload
	}
	for range d.limited(uint64(len(payload))) {
		b.Rejects = append(b.Rejects, batch.Reject{
			After:   uint32(d.limited(uint64(n))),
			Code:    string(d.text()),
			Message: string(d.text()),
			Length:  d.varint(),
			Data:    append([]byte(nil), d.text()...),
		})
		if d.bad {
			return errPayload
		}
	}
	switch d.byte() {
	case 0:
		b.Times = nil
	case 1:
		last := int64(0)
		for range n {
			last += d.varint()
			b.Times = append(b.Times, last)
		}
	default:
		return errPayload
	}
	for range d.limited(uint64(len(payload))) {
		b.Marks = append(b.Marks, batch.Mark{After: uint32(d.limited(uint64(n))), Watermark: d.varint()})
		if d.bad {
			return errPayload
		}
	}
	for i := range b.Rejects {
		if kind == kindBatch {
			break
		}
		switch r := &b.Rejects[i]; d.byte() {
		case 0:
		case 1:
			r.Position, r.HasPosition = d.varint(), true
		default:
			return errPayload
		}
	}
	if d.bad || len(d.rest) > 0 {
		return errPayload
	}
	return nil
}

// decoder reads varints and texts. After the first mistake everything is zero and bad is set.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) fail() { d.rest, d.bad = nil, true }

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail()
		return 0
	}
	v := d.rest[0]
	d.rest = d.rest[1:]
	return v
}

func (d *decoder) limited(most uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > most {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) text() []byte {
	n := d.limited(uint64(len(d.rest)))
	if n > uint64(len(d.rest)) { // the length itself has taken its share
		d.fail()
		return nil
	}
	v := d.rest[:n]
	d.rest = d.rest[n:]
	return v
}
