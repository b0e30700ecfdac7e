package pipeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// confirm_jump doubts watermarks in one of two places. Those that markers carry in a field are looked at before the assigner: one that has
// believed a watermark lets no lower one through any more. All others are looked at when the assigner has spoken.

// refuseUnconfirmed refuses markers whose watermark nothing bears out. It sees the rows that have passed the jump guard.
func (l *lane) refuseUnconfirmed(b *batch.Batch) {
	is, value := b.Column(markerOption), b.Column(watermarkOption)
	marker := func(r int) bool {
		return is != nil && value != nil && is.Kinds[r] == batch.Bool && is.Bits[r] != 0 && value.Kinds[r] == batch.Time
	}
	var doubted []uint32
	look := func(r int) {
		if marker(r) {
			if !l.markers.Offer(b.Partition, int64(value.Bits[r])) {
				doubted = append(doubted, uint32(r))
			}
			return
		}
		l.markers.Row(b.Partition, b.Times[r])
	}
	if b.Sel != nil {
		for _, r := range b.Sel {
			look(int(r))
		}
	} else {
		for r := range b.N {
			look(r)
		}
	}
	if len(doubted) == 0 {
		return
	}
	from := len(b.Bad)
	for _, r := range doubted {
		b.Refuse(int(r), watermark.CodeUnconfirmedJump, fmt.Sprintf("the marker's watermark %s is more than confirm_jump (%s) ahead of the records, and nothing confirmed it",
			watermark.FormatTime(int64(value.Bits[r])), l.markers.Span().Round(time.Millisecond)))
		b.Times[r] = batch.NoTimestamp
	}
	b.Narrow(from)
	l.counts.Unconfirmed.Add(int64(len(doubted)))
}

// restoreDoubts gives a guard what the last commit says of a partition.
func (l *lane) restoreDoubts(g *watermark.MarkGuard, it *item) error {
	s := l.restored[it.name].marks
	if g == nil || s == nil {
		return nil
	}
	if err := g.Restore(it.partition, s); err != nil {
		return fmt.Errorf("partition %s: %w", it.name, err)
	}
	return nil
}

// doubts is what the guard of markers knows of all partitions.
func (l *lane) doubts() map[uint32][]byte {
	out := make(map[uint32][]byte, len(l.names))
	for id := range l.names {
		out[id] = l.markers.Snapshot(id, nil)
	}
	return out
}

// marked reports whether an assigner reads markers with a watermark in a field.
func marked(a *plan.Assigner) bool {
	reads := func(name string) bool {
		return slices.ContainsFunc(a.Columns, func(c plan.Column) bool { return c.Name == name })
	}
	return a != nil && reads(markerOption) && reads(watermarkOption)
}
