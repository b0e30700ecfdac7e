package sdk

import "github.com/tidemark-stream/tidemark/sdk/batch"

// marker writes the marks of one partition: only rising ones, and of those the first in each bucket and the last of each batch.
type marker struct {
	bucket, offset int64
	high           int64 // the highest watermark proposed so far
	next           int64 // the lowest one that gets a mark of its own

	list    []batch.Mark
	pending batch.Mark // the last one that got none; valid if held
	held    bool
	muted   bool // marks are ignored: the assigner is asked instead
}

func newMarker(bucket, offset int64) marker {
	return marker{bucket: bucket, offset: offset, high: batch.NoWatermark, next: batch.NoWatermark}
}

func (m *marker) add(after uint32, w int64) {
	if w > m.high {
		m.rise(after, w)
	}
}

func (m *marker) rise(after uint32, w int64) {
	if m.muted {
		return
	}
	m.high = w
	if w < m.next {
		m.pending, m.held = batch.Mark{After: after, Watermark: w}, true
		return
	}
	m.list = append(m.list, batch.Mark{After: after, Watermark: w})
	m.held = false
	m.next = batch.NextBoundary(w, m.bucket, m.offset)
}

// finish ends a batch and returns its marks, valid until the next add.
func (m *marker) finish() []batch.Mark {
	if m.held {
		m.list, m.held = append(m.list, m.pending), false
	}
	list := m.list
	m.list = m.list[:0]
	return list
}
