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
		slices.Sort(late)
		if len(late) > 0 && !s.cfg.PassThrough {
			err = s.lateRows(m, late, watermark)
		}
		before := watermark
		if n := len(m.marks); n > 0 {
			watermark = m.marks[n-1].Watermark
		}
		switch {
		case err != nil:
		case s.cfg.PassThrough && m.kind == rowsMessage:
			err = s.passOn(m, late, before)
		default:
			err = s.handOn(m, replies, before)
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

func (s *Stage) handOn(m *Message, replies []*reply, before int64) error {
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
	s.firings.Add(firings(replies))
	if rows == 0 && len(m.marks) == 0 {
		return nil
	}
	out := merge(m, replies, rows)
	out.Before = before
	return s.cfg.Downstream.Results(out)
}

// firings counts the firings of one message: segments of different shards with the same place and window are one.
func firings(replies []*reply) int64 {
	n := int64(0)
	for i, r := range replies {
		for _, seg := range r.segments {
			first := true
			for _, other := range replies[:i] {
				_, found := slices.BinarySearchFunc(other.segments, seg, func(a, b segment) int {
					switch {
					case a.before(b):
						return -1
					case b.before(a):
						return 1
					}
					return 0
				})
				first = first && !found
			}
			if first {
				n++
			}
		}
	}
	return n
}

// passOn hands on the rows of a message but for those that the operator took out.
func (s *Stage) passOn(m *Message, dropped []uint32, before int64) error {
	if m.batch == nil { // a watermark by itself
		b := batch.Get()
		b.Marks, b.Before = append(b.Marks, m.marks...), before
		return s.cfg.Downstream.Results(b)
	}
	out := m.batch.Fork()
	out.Marks, out.Before = append([]batch.Mark(nil), m.marks...), before
	if len(dropped) > 0 {
		out.Sel = without(out.Select(), dropped)
	}
	return s.cfg.Downstream.Results(out)
}

// without removes from sel the rows of drop, in place; both ascend.
func without(sel, drop []uint32) []uint32 {
	out := sel[:0]
	for _, r := range sel {
		for len(drop) > 0 && drop[0] < r {
			drop = drop[1:]
		}
		if len(drop) > 0 && drop[0] == r {
			continue
		}
		out = append(out, r)
	}
	return out
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
