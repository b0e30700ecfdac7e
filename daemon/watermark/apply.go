package watermark

import (
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Apply combines the watermark marks of one batch of partition id and appends the marks of the whole source to out: those that
// raise the combined watermark and that the coalescer does not find superfluous, at their places. rows is the number of rows in
// the batch. Marks that do not rise are ignored; without rows they are no activity either. An unknown partition is added.
//
// activated reports that the output was idle and is active again; pass that on before the batch.
//
// It costs nothing a row and does not allocate, apart from growing out. Only the partition that holds the watermark pays for
// looking at the others.
func (p *Partitions) Apply(id uint32, rows int, marks []batch.Mark, now int64, out []batch.Mark) (_ []batch.Mark, activated bool) {
	i := p.slot(id)
	if i < 0 {
		p.Add(id, now)
		i = p.slot(id)
	}
	q := &p.parts[i]
	if q.ended || p.output.last == batch.EndOfInput || rows == 0 && !rises(q.watermark, marks) {
		return out, false
	}
	p.touch(q, now)
	if p.settings.AnnounceOnRow && p.output.idle {
		p.output.idle, activated = false, true
	}
	if len(marks) == 0 {
		return out, activated
	}

	if p.holder >= 0 && p.holder != i {
		// Somebody else stands lowest, so whatever this partition says cannot raise the minimum.
		high := q.watermark
		for _, m := range marks {
			if m.Watermark < high {
				p.ignored++
			}
			high = max(high, m.Watermark)
		}
		if high > q.watermark {
			q.watermark, q.roseAt = high, now
		}
		return out, activated
	}

	others, holder, alone := p.others(i)
	high, combined := q.watermark, p.output.last
	dropped := -1
	for k := range marks {
		w := marks[k].Watermark
		if w <= high {
			if w < high {
				p.ignored++
			}
			continue
		}
		high = w
		if w != batch.EndOfInput || !alone {
			// NB: at its own end the partition stops counting, so that the others decide. If they are all idle, the next
			// recombination says what that means; it is not a thing between rows.
			if w = min(w, others); w == math.MaxInt64 {
				continue
			}
		}
		if w <= combined {
			continue
		}
		combined = w
		if p.coalesce.matters(w) {
			out, dropped = append(out, batch.Mark{After: marks[k].After, Watermark: w}), -1
		} else {
			dropped = k
		}
	}
	if dropped >= 0 {
		out = append(out, batch.Mark{After: marks[dropped].After, Watermark: combined})
	}
	if high > q.watermark {
		q.watermark, q.roseAt = high, now
	}
	if combined > p.output.last {
		p.output.last = combined
		if p.output.idle {
			p.output.idle, activated = false, true
		}
	}
	if q.watermark != batch.EndOfInput && q.watermark <= others {
		holder = i
	}
	p.holder = holder
	return out, activated
}

func rises(high int64, marks []batch.Mark) bool {
	for _, m := range marks {
		if m.Watermark > high {
			return true
		}
	}
	return false
}

// others is the minimum over the partitions that count beside i (math.MaxInt64: none), which one has it (-1: none), and whether i is
// the only one that has not ended.
func (p *Partitions) others(i int32) (low int64, holder int32, alone bool) {
	low, holder, alone = math.MaxInt64, -1, true
	for k := range p.parts {
		q := &p.parts[k]
		if int32(k) == i || q.ended || q.watermark == batch.EndOfInput {
			continue
		}
		alone = false
		if !q.idle && q.watermark < low {
			low, holder = q.watermark, int32(k)
		}
	}
	return low, holder, alone
}
