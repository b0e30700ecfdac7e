package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Headers gives each batch of a csv source the header of its partition, so that batches can then be decoded in any order and
// by any worker. It sits where the batches of one source still come in order, and belongs to that goroutine.
//
// A header is the first row of a partition, the row at position 0 or behind a byte order mark there, that is not blank. A row that is equal to the header is
// the header again (files joined together) and no record either. When the rows of a partition begin at 0 again, because its
// file was rotated, their first row is a new header, with columns in another order perhaps. A source that knows the header
// itself puts it into the batch, and then only repetitions are looked for.
//
// Its state belongs into the checkpoint beside the positions: a partition that is continued in its middle needs it.
type Headers struct {
	known map[uint32][]byte // by partition; empty: the header is still to come
	next  map[uint32]int64  // by partition: the position behind its last batch, where one came; not in a snapshot
}

// NewHeaders returns nil when rows of spec bring no header.
func NewHeaders(spec Spec) *Headers {
	if spec.Format != FormatCSV || !spec.Header {
		return nil
	}
	return &Headers{known: map[uint32][]byte{}, next: map[uint32]int64{}}
}

// Attach sets b.Header and takes header rows out of b.Sel. It returns how many rows these were: they count as neither read
// nor refused. Without a known header, b.Header stays nil, and decoding refuses the rows.
func (h *Headers) Attach(b *batch.Batch) (headers int) {
	if b.N == 0 {
		return 0
	}
	header := b.Header
	defer func() { h.next[b.Partition] = b.RowPosition(b.N-1) + 1 }()
	if len(header) > 0 {
		h.known[b.Partition] = header
	} else {
		var begun bool
		header, begun = h.known[b.Partition]
		if h.begins(b, begun) {
			header, begun = nil, true
			h.known[b.Partition] = nil
		}
		if !begun {
			return 0
		}
	}
	var out []uint32
	k := 0
	drop := func() {
		if out == nil {
			sel := b.Select()
			out = sel[:k]
		}
		headers++
	}
	n := b.Alive()
	for ; k < n; k++ {
		i := k
		if b.Sel != nil {
			i = int(b.Sel[k])
		}
		row := b.Row(i)
		switch {
		case len(header) == 0 && isBlank(trimHeader(row)):
			drop()
		case len(header) == 0:
			header = bytes.Clone(row)
			h.known[b.Partition] = header
			drop()
		case len(row) >= len(header)-4 && len(row) <= len(header)+4 && bytes.Equal(trimHeader(row), trimHeader(header)):
			drop()
		default:
			if out != nil {
				out = append(out, uint32(i))
			}
		}
	}
	if out != nil {
		b.Sel = out
	}
	b.Header = header
	return headers
}

// bomSize is the length of a byte order mark in UTF-8.
const bomSize = 3

// begins says whether the first row of b is the first one of its partition, or of a new generation of it. Where a byte order mark stood
// before it, its position is that behind the mark; so may be that of the second row of a file, and only what came before tells them apart.
func (h *Headers) begins(b *batch.Batch, begun bool) bool {
	switch at := b.RowPosition(0); at {
	case 0:
		return true
	case bomSize:
		return b.Unit == batch.ByteOffset && (!begun || at < h.next[b.Partition])
	}
	return false
}

// Know tells the header of a partition that is continued behind it.
func (h *Headers) Know(partition uint32, header []byte) { h.known[partition] = header }

// Forget drops what is known about a partition that has ended.
func (h *Headers) Forget(partition uint32) {
	delete(h.known, partition)
	delete(h.next, partition)
}

// trimHeader is a row without byte order mark and carriage return.
func trimHeader(row []byte) []byte {
	row = row[bomLength(row):]
	if n := len(row); n > 0 && row[n-1] == '\r' {
		row = row[:n-1]
	}
	return row
}

// headersVersion begins a snapshot: version | number of partitions | for each its number, the length of the header, the header.
// All numbers are unsigned varints.
const headersVersion = 1

// Snapshot is the state as bytes; equal states give equal bytes.
func (h *Headers) Snapshot() []byte {
	partitions := make([]uint32, 0, len(h.known))
	for p := range h.known {
		partitions = append(partitions, p)
	}
	slices.Sort(partitions)
	s := binary.AppendUvarint([]byte{headersVersion}, uint64(len(partitions)))
	for _, p := range partitions {
		s = binary.AppendUvarint(s, uint64(p))
		s = binary.AppendUvarint(s, uint64(len(h.known[p])))
		s = append(s, h.known[p]...)
	}
	return s
}

// Restore replaces the state by one that Snapshot gave.
func (h *Headers) Restore(s []byte) error {
	damaged := errors.New("decode: the stored csv headers are damaged")
	if len(s) == 0 || s[0] != headersVersion {
		return damaged
	}
	s = s[1:]
	number := func() (uint64, bool) {
		v, n := binary.Uvarint(s)
		if n <= 0 {
			return 0, false
		}
		s = s[n:]
		return v, true
	}
	count, ok := number()
	known := map[uint32][]byte{}
	for ; ok && count > 0; count-- {
		var p, n uint64
		if p, ok = number(); !ok {
			break
		}
		if n, ok = number(); !ok || n > uint64(len(s)) || p > 1<<32-1 {
			ok = false
			break
		}
		known[uint32(p)] = bytes.Clone(s[:n])
		s = s[n:]
	}
	if !ok || len(s) > 0 {
		return damaged
	}
	h.known, h.next = known, map[uint32]int64{}
	return nil
}
