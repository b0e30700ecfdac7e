// Package batch holds what moves through a pipeline: many rows at a time, as one byte arena with row offsets, typed
// column vectors, timestamps and watermark marks.
//
// The same value is used on both sides of the plugin wire. It has no pointers per row, so that the garbage collector
// has nothing to follow, and it is recycled through [Get] and [Batch.Release].
//
// Life: a source fills Data, Offsets and Position; decode adds Columns and Bad; the assigner sets Times and Marks;
// transforms narrow Sel or add columns; the last reader releases it. Between two stages exactly one goroutine may write;
// after a batch has been handed to several readers (the shards) nobody may.
package batch

import "math"

const (
	// NoTimestamp says that a row has no event time, and NoWatermark that no watermark has been seen (the lowest int64).
	NoTimestamp = math.MinInt64
	NoWatermark = math.MinInt64
	// EndOfInput is the watermark after the last row; it fires every window (the highest int64).
	EndOfInput = math.MaxInt64
)

// Mark is a watermark at a place between rows: the rows before After were seen before the watermark rose to Watermark, the
// others are judged against it. Marks are ordered by After; several may share one place, then they rise.
type Mark struct {
	After     uint32 // number of rows before the mark, 0..Len
	Watermark int64  // event time, ms
}

// PositionUnit says what Base counts.
type PositionUnit uint8

const (
	RecordNumber PositionUnit = iota // Base is the number of row 0 in its partition, row i is Base+i
	ByteOffset                       // Base is the byte offset of row 0, row i is Base+Offsets[i]
)

// Reject is input that a source could not hand over as a row: an over-long record, the rest of a line when the peer went
// away. It goes to the source's errors port.
type Reject struct {
	After   uint32 // number of rows that came before it
	Code    string // stable reason, e.g. "too_long", "partial"
	Message string // for people
	Data    []byte // what is kept of the record (a marked prefix when Length is larger)
	Length  int64  // length of the whole record in bytes

	Position    int64 // where the record begins, counted as the batch's Unit says
	HasPosition bool  // Position is known
}

// BadRow is a row that decode or a later stage refused. It is not in Sel, and goes to the component's errors port.
type BadRow struct {
	Row     uint32
	Code    string // stable reason, e.g. "malformed", "no_timestamp", "too_far_ahead"
	Message string
}

// Batch is a run of rows of one partition, in the order of that partition.
type Batch struct {
	N         int    // number of rows
	Source    uint32 // number of the source in its pipeline; set by the daemon
	Partition uint32 // number of the partition in its source

	// Raw rows. Row i is Data[Offsets[i] : Offsets[i+1]-Trailer]. Empty in batches of results.
	Data    []byte
	Offsets []uint32 // N+1 values, or nil
	Trailer uint8    // bytes at the end of each row that are not part of it: 1 for the line feed of line sources

	Base     int64 // place of row 0 in the partition, for messages
	Unit     PositionUnit
	Places   []int64 // of each row in the partition, in Unit, where rows are no longer one for one those of the source; else empty
	Position []byte  // opaque: where a source continues after this batch

	// Header is the record that names the columns of this partition, for formats that have one (csv). Batches share it: it must
	// not be changed. Nil where there is none.
	Header []byte

	Rejects []Reject
	Bad     []BadRow
	Sel     []uint32 // rows still alive, ascending; nil means all N. An empty, non-nil Sel means none.

	Times []int64 // event time of each row in ms, NoTimestamp where there is none; nil before time is assigned
	Marks []Mark
	// Before is the watermark of the whole stream before the first row, NoWatermark where there was none. The daemon sets it.
	Before int64

	Columns []Column
	Extra   []byte // arena for strings that do not stand literally in Data (unescaped, computed)

	refs   int32
	sel    []uint32 // memory for Sel
	parent *Batch   // of a Fork
}

// Len is the number of rows, dead ones included.
func (b *Batch) Len() int { return b.N }

// Alive is the number of rows still selected.
func (b *Batch) Alive() int {
	if b.Sel != nil {
		return len(b.Sel)
	}
	return b.N
}

// Row returns the raw bytes of row i, without its line end. They must not be changed.
func (b *Batch) Row(i int) []byte {
	if len(b.Offsets) == 0 {
		return nil
	}
	return b.Data[b.Offsets[i] : b.Offsets[i+1]-uint32(b.Trailer)]
}

// RowPosition is the place of row i in its partition, in b.Unit. Of a row that a step made it is that of the record it was made of.
func (b *Batch) RowPosition(i int) int64 {
	if len(b.Places) > 0 {
		return b.Places[i]
	}
	if b.Unit == ByteOffset && len(b.Offsets) > 0 {
		return b.Base + int64(b.Offsets[i])
	}
	return b.Base + int64(i)
}

// Column returns the column with that name, or nil.
func (b *Batch) Column(name string) *Column {
	for i := range b.Columns {
		if b.Columns[i].Name == name {
			return &b.Columns[i]
		}
	}
	return nil
}

// AddColumn appends an empty column of capacity N, reusing a recycled one where there is one. The pointer is valid until the
// next AddColumn.
func (b *Batch) AddColumn(name string) *Column {
	n := len(b.Columns)
	if n < cap(b.Columns) {
		b.Columns = b.Columns[:n+1]
	} else {
		b.Columns = append(b.Columns, Column{})
	}
	c := &b.Columns[n]
	c.reset(name, b.N)
	return c
}

// Refuse takes row i out of the selection (by the next [Batch.Narrow]) and records why.
func (b *Batch) Refuse(row int, code, message string) {
	b.Bad = append(b.Bad, BadRow{Row: uint32(row), Code: code, Message: message})
}

// Narrow removes the rows of Bad[from:], which must be ascending, from Sel.
func (b *Batch) Narrow(from int) {
	bad := b.Bad[from:]
	if len(bad) == 0 {
		return
	}
	sel := b.Select()
	out, k := sel[:0], 0
	for _, r := range sel {
		for k < len(bad) && bad[k].Row < r {
			k++
		}
		if k < len(bad) && bad[k].Row == r {
			continue
		}
		out = append(out, r)
	}
	b.Sel = out
}

// Select makes Sel explicit (all rows, where it was nil) and returns it, so that a stage can narrow it in place.
func (b *Batch) Select() []uint32 {
	if b.Sel != nil {
		return b.Sel
	}
	if cap(b.sel) < b.N {
		b.sel = make([]uint32, b.N)
	}
	b.Sel = b.sel[:b.N]
	for i := range b.Sel {
		b.Sel[i] = uint32(i)
	}
	return b.Sel
}
