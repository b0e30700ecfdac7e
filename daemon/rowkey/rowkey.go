// Package rowkey turns the key fields of rows into bytes that compare, hash and decode the same everywhere: in the shards'
// tables, in the store, in results.
//
// A single key field is a tag (the cell's batch.Kind) and a payload: the text itself for strings and JSON, eight bytes
// little endian for numbers and times, one byte for booleans, nothing for null. Several fields are the tag Composite and,
// field after field, tag, payload length (uvarint) and payload. A missing field is null. Numbers of one value are one key, however they
// are written, see [Canonical].
//
// The hash is xxh3-64 of the payload seeded with the tag. It is stored on disk: it must never change.
package rowkey

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/zeebo/xxh3"
)

// Composite tags keys of several fields, and the empty key of an operator without key fields.
const Composite = 0xFF

// Groups is the number of key groups; a key's group is the top bits of its hash. It is part of the stored format.
const Groups = 128

// Keys holds the key of every alive row of a batch, by row number; entries of dead rows are undefined.
type Keys struct {
	Hash []uint64
	Ref  []uint64 // text in the batch (Data or Extra) or in Arena, see Bytes
	Tag  []uint8

	Arena []byte // payloads that do not stand literally in the batch
	batch *batch.Batch
	cols  []*batch.Column
}

const arenaBit = 1 << 62 // a reference into Arena; batch references use bit 63 and lower offsets

// Bytes is the payload of row i's key. It is valid until the batch is released or Compute runs again.
func (k *Keys) Bytes(i int) []byte {
	ref := k.Ref[i]
	if ref&arenaBit != 0 {
		off, n := (ref&^arenaBit)>>32, ref&0xffffffff
		return k.Arena[off : off+n : off+n]
	}
	return k.batch.Text(ref)
}

// Compute fills k for the rows of sel (nil: all rows) of b. fields are names of columns of b; a name without a column is null.
func (k *Keys) Compute(b *batch.Batch, fields []string) {
	k.batch, k.Arena, k.cols = b, k.Arena[:0], k.cols[:0]
	if cap(k.Hash) < b.N {
		k.Hash, k.Ref, k.Tag = make([]uint64, b.N), make([]uint64, b.N), make([]uint8, b.N)
	}
	k.Hash, k.Ref, k.Tag = k.Hash[:b.N], k.Ref[:b.N], k.Tag[:b.N]
	for _, f := range fields {
		k.cols = append(k.cols, b.Column(f))
	}
	if len(k.cols) == 1 && k.cols[0] != nil {
		if kind, ok := k.cols[0].Uniform(); ok && kind == batch.String {
			k.strings(b, k.cols[0])
			return
		}
	}
	if b.Sel == nil {
		for i := range b.N {
			k.row(b, i)
		}
		return
	}
	for _, i := range b.Sel {
		k.row(b, int(i))
	}
}

// strings is the common case: one text field, whose bytes are used where they stand.
func (k *Keys) strings(b *batch.Batch, c *batch.Column) {
	if b.Sel == nil {
		for i := range b.N {
			ref := c.Bits[i]
			k.Ref[i], k.Tag[i] = ref, uint8(batch.String)
			k.Hash[i] = xxh3.HashSeed(b.Text(ref), uint64(batch.String))
		}
		return
	}
	for _, r := range b.Sel {
		ref := c.Bits[r]
		k.Ref[r], k.Tag[r] = ref, uint8(batch.String)
		k.Hash[r] = xxh3.HashSeed(b.Text(ref), uint64(batch.String))
	}
}

func (k *Keys) row(b *batch.Batch, i int) {
	off := len(k.Arena)
	if len(k.cols) == 1 {
		kind, bits := cell(b, k.cols[0], i)
		k.Tag[i] = uint8(kind)
		if kind == batch.String || kind == batch.JSON {
			k.Ref[i] = bits
		} else {
			k.Arena = appendPayload(k.Arena, b, kind, bits)
			k.Ref[i] = batch.Ref(off, len(k.Arena)-off) | arenaBit
		}
		k.Hash[i] = Hash(k.Tag[i], k.Bytes(i))
		return
	}
	for _, c := range k.cols {
		kind, bits := cell(b, c, i)
		k.Arena = append(k.Arena, byte(kind))
		switch kind {
		case batch.String, batch.JSON:
			text := b.Text(bits)
			k.Arena = binary.AppendUvarint(k.Arena, uint64(len(text)))
			k.Arena = append(k.Arena, text...)
		case batch.Null:
			k.Arena = append(k.Arena, 0)
		case batch.Bool:
			k.Arena = append(k.Arena, 1, byte(bits))
		default:
			k.Arena = append(k.Arena, 8)
			k.Arena = binary.LittleEndian.AppendUint64(k.Arena, bits)
		}
	}
	k.Tag[i] = Composite
	k.Ref[i] = batch.Ref(off, len(k.Arena)-off) | arenaBit
	k.Hash[i] = Hash(Composite, k.Arena[off:])
}

// cell reads a cell in its canonical form for keys.
func cell(b *batch.Batch, c *batch.Column, i int) (batch.Kind, uint64) {
	if c == nil {
		return batch.Null, 0
	}
	if c.Kinds[i] <= batch.Null {
		return batch.Null, 0
	}
	return Canonical(b, c.Kinds[i], c.Bits[i])
}

func appendPayload(dst []byte, b *batch.Batch, kind batch.Kind, bits uint64) []byte {
	switch kind {
	case batch.Null:
		return dst
	case batch.Bool:
		return append(dst, byte(bits))
	case batch.String, batch.JSON:
		return append(dst, b.Text(bits)...)
	default:
		return binary.LittleEndian.AppendUint64(dst, bits)
	}
}

// Hash is the stored hash of a key.
func Hash(tag uint8, payload []byte) uint64 { return xxh3.HashSeed(payload, uint64(tag)) }

// Group is the key group of a hash, 0..Groups-1.
func Group(hash uint64) int { return int(hash >> 57) }

// Shard is the shard of n that owns a hash. Shards own contiguous ranges of hashes, so results sorted by hash within each
// shard are sorted over all shards in shard order.
func Shard(hash uint64, n int) int { return Group(hash) * n / Groups }

// Range is the first and the last hash that shard i of n owns. Shards beyond the number of groups own none: ok is false.
func Range(i, n int) (first, last uint64, ok bool) {
	from, to := (i*Groups+n-1)/n, ((i+1)*Groups+n-1)/n // the groups g with g*n/Groups == i
	if from >= to {
		return 0, 0, false
	}
	return uint64(from) << 57, uint64(to)<<57 - 1, true
}

// Decode writes a key's fields as cell row of cols, which are columns of b, one for each key field.
func Decode(tag uint8, payload []byte, b *batch.Batch, cols []*batch.Column, row int) error {
	if tag != Composite {
		if len(cols) != 1 {
			return fmt.Errorf("rowkey: a single-field key for %d fields", len(cols))
		}
		return decodeCell(batch.Kind(tag), payload, b, cols[0], row)
	}
	for _, c := range cols {
		if len(payload) < 2 {
			return fmt.Errorf("rowkey: key ends early")
		}
		kind := batch.Kind(payload[0])
		n, w := binary.Uvarint(payload[1:])
		if w <= 0 || uint64(len(payload)-1-w) < n {
			return fmt.Errorf("rowkey: damaged key")
		}
		end := 1 + w + int(n)
		if err := decodeCell(kind, payload[1+w:end], b, c, row); err != nil {
			return err
		}
		payload = payload[end:]
	}
	if len(payload) != 0 {
		return fmt.Errorf("rowkey: %d bytes too many", len(payload))
	}
	return nil
}

func decodeCell(kind batch.Kind, payload []byte, b *batch.Batch, c *batch.Column, row int) error {
	switch kind {
	case batch.Null:
		c.SetNull(row)
	case batch.String, batch.JSON:
		off := len(b.Extra)
		b.Extra = append(b.Extra, payload...)
		c.Set(row, kind, batch.ExtraRef(off, len(payload)))
	case batch.Bool:
		if len(payload) != 1 {
			return fmt.Errorf("rowkey: damaged bool")
		}
		c.SetBool(row, payload[0] != 0)
	case batch.Int, batch.Uint, batch.Float, batch.Time:
		if len(payload) != 8 {
			return fmt.Errorf("rowkey: damaged %s", kind)
		}
		c.Set(row, kind, binary.LittleEndian.Uint64(payload))
	default:
		return fmt.Errorf("rowkey: unknown tag %d", kind)
	}
	return nil
}
