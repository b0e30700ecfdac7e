package shard

import (
	"context"
	"math"
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
		if slices.ContainsFunc(replies, func(r *reply) bool { return r.more }) {
			before := watermark
			if n := len(m.marks); n > 0 { // stream gives the message back
				watermark = m.marks[n-1].Watermark
			}
			err := s.stream(ctx, m, replies, before)
			if err == nil && ctx.Err() == nil {
				err = s.cfg.Downstream.Flush()
			}
			if err != nil || ctx.Err() != nil {
				return ignoreCancel(ctx, err)
			}
			continue
		}
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
		if err == nil {
			err = s.cfg.Downstream.Flush()
		}
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
	if rows <= s.cfg.resultRows {
		out := merge(m, replies, rows)
		out.Before = before
		return s.cfg.Downstream.Results(out)
	}
	g := newMerging(m, replies, before)
	for g.left = rows; g.left > 0; {
		if err := s.cfg.Downstream.Results(g.piece(s.cfg.resultRows)); err != nil {
			return err
		}
	}
	return nil
}

// defaultResultRows bounds a batch of results. A window can give a result for each of millions of keys; as one batch they would be copied, written
// as text and stored in one piece, each of them as large as the window itself.
const defaultResultRows = 4096

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
	only := onlyOne(replies, rows)
	if only == nil {
		g := newMerging(m, replies, batch.NoWatermark)
		g.left = rows
		return g.piece(rows)
	}
	g := merging{marks: m.marks}
	out := only.results
	only.results = nil
	at := uint32(0)
	for _, seg := range only.segments {
		g.mark(out, at, seg.step)
		at = seg.To
	}
	g.mark(out, at, lastStep)
	return out
}

// merging brings the results of all shards into one order, a batch after the other.
type merging struct {
	replies []*reply
	next    []int    // the segment of each reply that comes next
	from    []uint32 // what has been taken of it
	marks   []batch.Mark
	marked  int // how many marks have been placed
	before  int64
	left    int // rows
}

// lastStep comes after all steps of a message.
const lastStep = math.MaxUint32

func newMerging(m *Message, replies []*reply, before int64) *merging {
	return &merging{replies: replies, next: make([]int, len(replies)), from: make([]uint32, len(replies)), marks: m.marks, before: before}
}

// mark places the marks whose results all come before a step, behind the row at.
func (g *merging) mark(out *batch.Batch, at, step uint32) {
	for ; g.marked < len(g.marks) && uint32(2*g.marked+1) < step; g.marked++ {
		out.Marks = append(out.Marks, batch.Mark{After: at, Watermark: g.marks[g.marked].Watermark})
	}
}

// piece takes up to most rows. The last piece ends with the marks that are left.
func (g *merging) piece(most int) *batch.Batch {
	out := batch.Get()
	out.Before = g.before
	for out.N < most && g.left > 0 {
		best := -1
		for i, r := range g.replies {
			if g.next[i] < len(r.segments) && (best < 0 || r.segments[g.next[i]].before(g.replies[best].segments[g.next[best]])) {
				best = i
			}
		}
		seg := g.replies[best].segments[g.next[best]]
		g.mark(out, uint32(out.N), seg.step)
		from := max(seg.From, g.from[best])
		to := min(seg.To, from+uint32(most-out.N))
		out.AppendRows(g.replies[best].results, int(from), int(to))
		g.left -= int(to - from)
		if g.from[best] = to; to == seg.To {
			g.next[best]++
		}
	}
	if g.left == 0 {
		g.mark(out, uint32(out.N), lastStep)
	}
	if n := len(out.Marks); n > 0 {
		g.before = out.Marks[n-1].Watermark
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
	for i, r := range replies {
		s.giveBackReply(i, r)
	}
	s.giveBackMessage(m)
}

func (s *Stage) giveBackReply(shard int, r *reply) {
	r.message = nil
	if r.results != nil {
		r.results.Reset()
	}
	s.workers[shard].free <- r
}

func (s *Stage) giveBackMessage(m *Message) {
	if m.batch != nil {
		m.batch.Release()
		m.batch = nil
	}
	if m.kind == rowsMessage && m.index != nil {
		s.free.Put(m)
	}
}
