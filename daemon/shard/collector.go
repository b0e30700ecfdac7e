package shard

import (
	"context"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// collect takes the replies of all shards, message by message, and hands them on in one order.
func (s *Stage) collect(ctx context.Context) error {
	replies := make([]*reply, len(s.workers))
	watermark := s.cfg.Watermark
	var late []uint32
	for {
		for i, w := range s.workers {
			select {
			case replies[i] = <-w.replies:
			case <-ctx.Done():
				return nil
			}
		}
		m := replies[0].message
		var err error
		late = late[:0]
		for _, r := range replies {
			late = append(late, r.late...)
		}
		if len(late) > 0 {
			slices.Sort(late)
			err = s.lateRows(m, late, watermark)
		}
		if n := len(m.marks); n > 0 {
			watermark = m.marks[n-1].Watermark
		}
		if err == nil {
			err = s.handOn(m, replies)
		}
		s.giveBack(m, replies)
		if err != nil {
			return ignoreCancel(ctx, err)
		}
	}
}

// lateRows hands on runs of late rows that were judged against the same watermark.
func (s *Stage) lateRows(m *Message, late []uint32, watermark int64) error {
	k := 0
	for from := 0; from < len(late); {
		for k < len(m.marks) && m.marks[k].After <= late[from] {
			watermark = m.marks[k].Watermark
			k++
		}
		to := from + 1
		for to < len(late) && (k == len(m.marks) || late[to] < m.marks[k].After) {
			to++
		}
		if err := s.cfg.Downstream.Late(m.batch, late[from:to], watermark); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (s *Stage) handOn(m *Message, replies []*reply) error {
	switch m.kind {
	case statusMessage:
		return s.cfg.Downstream.Idle(m.idle)
	case barrierMessage:
		return s.cfg.Downstream.Barrier(m.barrier)
	}
	rows := 0
	for _, r := range replies {
		rows += r.results.N
	}
	if rows == 0 && len(m.marks) == 0 {
		return nil
	}
	return s.cfg.Downstream.Results(merge(m, replies, rows))
}

// merge builds the batch of results of one message: the shards' segments in order, and the message's marks, each behind the
// results it fired.
func merge(m *Message, replies []*reply, rows int) *batch.Batch {
	var out *batch.Batch
	var ends []uint32 // number of rows after each step that has some, as (step, rows) pairs
	if only := onlyOne(replies, rows); only != nil {
		out, only.results = only.results, nil
		for _, seg := range only.segments {
			ends = append(ends, seg.step, seg.To)
		}
	} else {
		out = batch.Get()
		next := make([]int, len(replies))
		for out.N < rows {
			best := -1
			for i, r := range replies {
				if next[i] < len(r.segments) && (best < 0 || r.segments[next[i]].before(replies[best].segments[next[best]])) {
					best = i
				}
			}
			seg := replies[best].segments[next[best]]
			next[best]++
			out.AppendRows(replies[best].results, int(seg.From), int(seg.To))
			ends = append(ends, seg.step, uint32(out.N))
		}
	}
	at, k := uint32(0), 0
	for i, mark := range m.marks {
		for k < len(ends) && ends[k] <= uint32(2*i+1) {
			at = ends[k+1]
			k += 2
		}
		out.Marks = append(out.Marks, batch.Mark{After: at, Watermark: mark.Watermark})
	}
	return out
}

// onlyOne returns the reply that has all rows: its results are in order already and need no copy.
func onlyOne(replies []*reply, rows int) *reply {
	for _, r := range replies {
		if r.results.N == rows {
			return r
		}
	}
	return nil
}

func (s *Stage) giveBack(m *Message, replies []*reply) {
	if m.batch != nil {
		m.batch.Release()
		m.batch = nil
	}
	for i, r := range replies {
		r.message = nil
		if r.results != nil {
			r.results.Reset()
		}
		s.workers[i].free <- r
	}
	if m.kind == rowsMessage && m.index != nil {
		s.free.Put(m)
	}
}
