package shard

import (
	"context"
	"math"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// stream hands on what a message made of windows that are larger than memory: shards reply to it piece by piece, and a piece is handed on, in the one
// order that results have, before the next is asked for. What comes of it is what would come of the message cut in two at each of its
// marks: late rows, which nobody knows all of at the beginning, go out before the results of the mark behind them.
func (s *Stage) stream(ctx context.Context, m *Message, replies []*reply, before int64) error {
	f := flow{stage: s, m: m, replies: replies, next: make([]int, len(replies)), from: make([]uint32, len(replies)), watermark: before}
	for i := range replies {
		f.late = append(f.late, replies[i].late...)
	}
	slices.Sort(f.late)
	err := f.run(ctx)
	for i, r := range f.replies {
		if r != nil {
			s.giveBackReply(i, r)
		}
	}
	if err == nil && ctx.Err() == nil {
		s.giveBackMessage(m)
	}
	return err
}

// flow is a message whose results are on their way.
type flow struct {
	stage   *Stage
	m       *Message
	replies []*reply // what each shard has sent last; nil: it was given back, and another is awaited
	next    []int    // segment of it
	from    []uint32 // rows of it that were taken

	out       *batch.Batch // being filled
	before    int64        // the watermark that out comes behind
	marked    int          // marks that were placed
	late      []uint32     // known, and not handed on
	watermark int64        // before the message
	last      segment      // that rows were taken of, for counting
	any       bool
}

func (f *flow) run(ctx context.Context) error {
	f.before = f.watermark
	f.out = batch.Get()
	f.out.Before = f.before
	defer func() {
		if f.out != nil {
			f.out.Release()
		}
	}()
	for {
		best, ok := f.head(ctx)
		if !ok {
			return nil
		}
		if best < 0 {
			break
		}
		seg := f.replies[best].segments[f.next[best]]
		if err := f.upTo(seg.step); err != nil {
			return err
		}
		f.count(seg)
		if f.whole(best, seg) {
			if err := f.flush(); err != nil {
				return err
			}
			continue
		}
		from := max(seg.From, f.from[best])
		to := min(seg.To, from+uint32(f.stage.cfg.resultRows-f.out.N))
		f.out.AppendRows(f.replies[best].results, int(from), int(to))
		if f.from[best] = to; to == seg.To {
			f.next[best]++
		}
		if f.out.N == f.stage.cfg.resultRows {
			if err := f.flush(); err != nil {
				return err
			}
		}
	}
	if err := f.upTo(lastStep); err != nil {
		return err
	}
	return f.flush()
}

// whole makes a reply that is one run of results the next batch, without a copy, where nothing has to come with it. Runs of a large window are so,
// since each shard has a range of hashes.
func (f *flow) whole(best int, seg segment) bool {
	r := f.replies[best]
	if f.out.N > 0 || f.from[best] > 0 || len(r.segments) != 1 || r.results.N != int(seg.To) || r.results.N > 2*f.stage.cfg.resultRows {
		return false
	}
	f.out, r.results = r.results, f.out
	f.out.Before = f.before
	f.out.Marks, r.results.Marks = r.results.Marks, f.out.Marks[:0]
	f.next[best]++
	return true
}

// head is the shard whose results come next; -1 when there are none any more. It waits until every shard has said what it has next. It is not ok when
// ctx has ended.
func (f *flow) head(ctx context.Context) (best int, ok bool) {
	best = -1
	for i, r := range f.replies {
		for r.more && f.next[i] == len(r.segments) {
			f.replies[i] = nil
			f.stage.giveBackReply(i, r)
			select {
			case r = <-f.stage.workers[i].replies:
			case <-ctx.Done():
				return -1, false
			}
			f.replies[i], f.next[i], f.from[i] = r, 0, 0
			if len(r.late) > 0 {
				f.late = append(f.late, r.late...)
				slices.Sort(f.late)
			}
		}
		if f.next[i] < len(r.segments) && (best < 0 || r.segments[f.next[i]].before(f.replies[best].segments[f.next[best]])) {
			best = i
		}
	}
	return best, true
}

// upTo hands on the late rows and the marks that come before the results of a step. All shards are at that step or behind it.
func (f *flow) upTo(step uint32) error {
	for ; f.marked < len(f.m.marks) && uint32(2*f.marked+1) < step; f.marked++ {
		mark := f.m.marks[f.marked]
		if err := f.lateBefore(mark.After); err != nil {
			return err
		}
		f.out.Marks = append(f.out.Marks, batch.Mark{After: uint32(f.out.N), Watermark: mark.Watermark})
	}
	switch {
	case step == lastStep:
		return f.lateBefore(math.MaxUint32)
	case step%2 == 1: // what a mark fires
		return f.lateBefore(f.m.marks[step/2].After)
	}
	return nil
}

// lateBefore hands on the late rows before a row, behind the results so far.
func (f *flow) lateBefore(row uint32) error {
	n := 0
	for n < len(f.late) && f.late[n] < row {
		n++
	}
	if n == 0 {
		return nil
	}
	if err := f.flush(); err != nil {
		return err
	}
	err := f.stage.lateRows(f.m, f.late[:n], f.watermark)
	f.late = f.late[n:]
	return err
}

// flush hands on the results so far.
func (f *flow) flush() error {
	if f.out.N == 0 && len(f.out.Marks) == 0 {
		return nil
	}
	if n := len(f.out.Marks); n > 0 {
		f.before = f.out.Marks[n-1].Watermark
	}
	out := f.out
	f.out = batch.Get()
	f.out.Before = f.before
	return f.stage.cfg.Downstream.Results(out)
}

// count counts a firing when its first results come.
func (f *flow) count(seg segment) {
	if !f.any || f.last.before(seg) {
		f.stage.firings.Add(1)
	}
	f.last, f.any = seg, true
}
