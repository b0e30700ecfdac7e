package pipeline

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Sources that answer whoever sent the records are told which of them were refused. Emit gathers these; a barrier cuts them off, as it does the
// positions; and when its commit is made they are told before the positions behind them are acknowledged.

// partRefusals are refused records of one partition, in the order of the stream.
type partRefusals struct {
	partition uint32
	refused   []wire.Refusal
}

// gathers makes the lane gather refusals, if the source takes them.
func (l *lane) gathers(can bool) {
	_, ok := l.source.(wire.Refuser)
	l.gathering = can && ok
}

// gather notes the refused rows of a batch. What the source has rejected itself it knows.
func (l *lane) gather(partition uint32, b *batch.Batch) {
	if !l.gathering || len(b.Bad) == 0 {
		return
	}
	n := len(l.refusals)
	if n == 0 || l.refusals[n-1].partition != partition {
		l.refusals = append(l.refusals, partRefusals{partition: partition})
		n++
	}
	last := &l.refusals[n-1]
	for _, bad := range b.Bad {
		last.refused = append(last.refused, wire.Refusal{Record: b.RowPosition(int(bad.Row)), Code: bad.Code, Message: bad.Message})
	}
}

// tellRefused tells the source what a commit has of refused records.
func (l *lane) tellRefused(all []partRefusals) error {
	for _, x := range all {
		if err := l.source.(wire.Refuser).Refused(x.partition, x.refused); err != nil {
			return fmt.Errorf("tell refused records: %w", err)
		}
	}
	return nil
}

var _ wire.Refuser = (*journaled)(nil)

// Refused implements wire.Refuser. Records of an earlier run, which come from the journal, are nobody's any more.
func (s *journaled) Refused(partition uint32, refused []wire.Refusal) error {
	s.mu.Lock()
	inner, open := s.outer[partition]
	s.mu.Unlock()
	if r, ok := s.inner.(wire.Refuser); ok && open {
		return r.Refused(inner, refused)
	}
	return nil
}
