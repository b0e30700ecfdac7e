package watermark

import (
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// CodeTooFarAhead is the reason of rows that MaxAhead refuses.
const CodeTooFarAhead = "too_far_ahead"

// MaxAhead keeps timestamps that are further ahead of the wall clock than a limit (`max_ahead`) from moving the watermark: the row is
// refused before any assigner sees it. One sender with a fast clock would otherwise make everybody else late. The zero value lets
// everything pass.
type MaxAhead struct {
	Limit time.Duration // 0: no limit
}

// Apply refuses the alive rows of b whose time is after now (ms of the wall clock) plus the limit, and returns how many. Their
// Times become batch.NoTimestamp, so that nobody who forgets the selection can be misled.
func (g MaxAhead) Apply(b *batch.Batch, now int64) int {
	if g.Limit <= 0 {
		return 0
	}
	bound := saturatingAdd(now, g.Limit.Milliseconds())
	if highest(b) <= bound {
		return 0
	}
	from := len(b.Bad)
	refuse := func(row int) {
		if t := b.Times[row]; t > bound {
			b.Refuse(row, CodeTooFarAhead, fmt.Sprintf("timestamp %s is %s ahead of the clock; max_ahead is %s",
				FormatTime(t), formatSpan(saturatingSub(t, now)), g.Limit))
			b.Times[row] = batch.NoTimestamp
		}
	}
	if b.Sel != nil {
		for _, row := range b.Sel {
			refuse(int(row))
		}
	} else {
		for row := range b.Times {
			refuse(row)
		}
	}
	b.Narrow(from)
	return len(b.Bad) - from
}

// Marks drops, in place, watermarks further ahead than the limit (a marker record or a source can be wrong as well) and returns the
// rest and how many went. The end of input is no such watermark.
func (g MaxAhead) Marks(marks []batch.Mark, now int64) ([]batch.Mark, int) {
	if g.Limit <= 0 {
		return marks, 0
	}
	bound := saturatingAdd(now, g.Limit.Milliseconds())
	kept := marks[:0]
	for _, m := range marks {
		if m.Watermark <= bound || m.Watermark == batch.EndOfInput {
			kept = append(kept, m)
		}
	}
	return kept, len(marks) - len(kept)
}

// highest is the highest time of the alive rows, batch.NoTimestamp if there is none.
func highest(b *batch.Batch) int64 {
	high := int64(batch.NoTimestamp)
	if b.Sel != nil {
		for _, row := range b.Sel {
			high = max(high, b.Times[row])
		}
		return high
	}
	for _, t := range b.Times {
		high = max(high, t)
	}
	return high
}

// formatSpan writes a span (ms) for people, also one that is longer than the 292 years of a time.Duration.
func formatSpan(ms int64) string {
	const day = 24 * 3600 * 1000
	if ms >= 2*day {
		return fmt.Sprintf("%d days", ms/day)
	}
	return (time.Duration(ms) * time.Millisecond).String()
}
