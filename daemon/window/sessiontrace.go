package window

import (
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Sessions follows the sessions of one key, for those who explain them: what the operator does with rows that are not late, without what is in
// the sessions.
type Sessions struct {
	spec Spec
	open []Span
}

// Sessions begins without a session. The Spec's type is Session.
func (s Spec) Sessions() *Sessions { return &Sessions{spec: s} }

// Take adds a row that came when the watermark stood at watermark and was not late. gap is what [Spec.Gap] and its column say of it.
func (s *Sessions) Take(ts, gap, watermark int64) {
	s.Advance(watermark)
	longest := int64(math.MaxInt64)
	if s.spec.MaxLength > 0 {
		longest = s.spec.MaxLength
	}
	from, to, whole := placeSession(spanList(s.open), Span{ts, addSaturating(ts, gap)}, longest)
	s.open = append(s.open[:from], append([]Span{whole}, s.open[to:]...)...)
}

// Advance drops the sessions that are over at a watermark, their lateness included.
func (s *Sessions) Advance(watermark int64) {
	kept := s.open[:0]
	for _, w := range s.open {
		if addSaturating(w.MaxTimestamp(), s.spec.Lateness) > watermark {
			kept = append(kept, w)
		}
	}
	s.open = kept
}

// Open are the sessions that have not been dropped, ascending.
func (s *Sessions) Open() []Span { return s.open }

type spanList []Span

func (l spanList) len() int        { return len(l) }
func (l spanList) span(i int) Span { return l[i] }

// GapOf is the session gap of a row, in ms: what its cell of the gap column says, or the Spec's gap where that is no usable value. c may be nil.
func (s *Spec) GapOf(c *batch.Column, row int) int64 {
	if c == nil {
		return s.Gap
	}
	switch v := c.Bits[row]; c.Kinds[row] {
	case batch.Int:
		if gap := int64(v); gap >= 0 {
			return gap
		}
	case batch.Uint:
		return math.MaxInt64
	case batch.Float:
		if f := math.Float64frombits(v); f >= 0 && f == math.Trunc(f) {
			if f >= math.MaxInt64 {
				return math.MaxInt64
			}
			return int64(f)
		}
	}
	return s.Gap
}
