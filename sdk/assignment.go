package sdk

import "github.com/tidemark-stream/tidemark/sdk/batch"

// Assignment is one batch of one partition in front of a [BatchAssigner]. It is valid during the call.
type Assignment struct {
	// Batch holds the rows to look at, all of them: Sel is nil, Times are the previous timestamps ([NoTimestamp] where there is
	// none), Columns are those that the description asks for. Everything in it is read-only.
	Batch *batch.Batch
	// EveryRecord says that a periodic assigner has to mark the watermark after each record. When it is false the assigner is asked
	// through CurrentWatermark instead, and marks of a periodic assigner are ignored.
	EveryRecord bool

	times   []int64
	changed bool
	marks   marker
	markers []uint32
	bad     []batch.BadRow
}

// Column is the column of that name, or nil if no row can have it.
func (a *Assignment) Column(name string) *batch.Column { return a.Batch.Column(name) }

// Times returns the timestamps to be written. They start as the previous ones; an assigner that keeps those does not call it.
func (a *Assignment) Times() []int64 {
	if !a.changed {
		a.changed = true
		a.times = append(a.times[:0], a.Batch.Times...)
	}
	return a.times
}

// Next is the lowest watermark that is worth a [Assignment.Mark] of its own: lower ones cannot make a difference, apart from the last
// one of the batch. A loop that compares with it saves a call at nearly every row:
//
//	next := a.Next()
//	for i, t := range a.Batch.Times {
//		if w := t - delay; w > high {
//			if high = w; w >= next {
//				next = a.Mark(i+1, sdk.Watermark(w))
//			}
//		}
//	}
//	a.Mark(a.Batch.Len(), sdk.Watermark(high))
func (a *Assignment) Next() Watermark { return Watermark(a.marks.next) }

// Mark proposes a watermark that takes effect after the first `after` rows of the batch, and returns the new Next. Calls come with rising
// `after`. A watermark that does not rise above the partition's highest is ignored.
func (a *Assignment) Mark(after int, w Watermark) (next Watermark) {
	a.marks.add(uint32(after), int64(w))
	return Watermark(a.marks.next)
}

// SetMarker says that a row carries time instead of data, so that it does not enter windows. Calls come with rising rows.
func (a *Assignment) SetMarker(row int) { a.markers = append(a.markers, uint32(row)) }

// Refuse sends a row to the errors port. code is stable and short ("no_timestamp"), message is for people. Calls come with rising rows.
func (a *Assignment) Refuse(row int, code, message string) {
	a.bad = append(a.bad, batch.BadRow{Row: uint32(row), Code: code, Message: message})
}
