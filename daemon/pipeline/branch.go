package pipeline

import (
	"slices"
	"sync/atomic"

	"github.com/tidemark-stream/tidemark/daemon/transform"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// stepCounts are the counters of a stateless step, over all its paths and workers.
type stepCounts struct{ In, Out, Filtered, Rejected atomic.Int64 }

func (c *stepCounts) add(d transform.Counts) {
	c.In.Add(int64(d.In))
	c.Out.Add(int64(d.Out))
	c.Filtered.Add(int64(d.Filtered))
	c.Rejected.Add(int64(d.Rejected))
}

// stepBranch is a stateless step as a reader of a port. Each worker has its own; the letters are written when the batch is sent.
type stepBranch struct {
	// apply takes over b and returns what goes on. refused is told of new entries of b.Bad while b is still whole.
	apply   func(b *batch.Batch, refused func(b *batch.Batch, from int)) (*batch.Batch, transform.Counts)
	counts  *stepCounts
	next    *port
	letters *letterWriter
	seen    func(component string, p Passage, b *batch.Batch) // or nil
}

func (s *stepBranch) prepare(b *batch.Batch, out []prepared) []prepared {
	f := b.Fork()
	b.Release()
	var refused *batch.Batch
	f, counts := s.apply(f, func(b *batch.Batch, from int) {
		if len(b.Bad) > from {
			refused = b.Fork()
			refused.Bad = append([]batch.BadRow(nil), b.Bad[from:]...)
		}
	})
	s.counts.add(counts)
	if refused != nil {
		out = append(out, refusedRows{s.letters, refused})
	}
	if s.seen != nil {
		s.seen(s.letters.component, Left, f)
	}
	return s.next.prepare(f, out)
}

// refusedRows are rows that a step has refused, on their way to the letters.
type refusedRows struct {
	letters *letterWriter
	batch   *batch.Batch
}

func (r refusedRows) send() error {
	defer r.batch.Release()
	return r.letters.refused(r.batch)
}

// inPlace makes an apply function of a step that changes its batch in place.
func inPlace(step func(b *batch.Batch) transform.Counts) func(*batch.Batch, func(*batch.Batch, int)) (*batch.Batch, transform.Counts) {
	return func(b *batch.Batch, refused func(*batch.Batch, int)) (*batch.Batch, transform.Counts) {
		from := len(b.Bad)
		counts := step(b)
		refused(b, from)
		return b, counts
	}
}

// columnsBranch computes columns that a reader wants and that rows do not have as such. A column that is there under the name of a computed
// one is not what the reader means, and it does not see it: the option of a plugin hides the field it is named like.
type columnsBranch struct {
	computed []computedColumn
	counts   *stepCounts // nil in front of a sink
	letters  *letterWriter
	next     branch
}

func (c *columnsBranch) prepare(b *batch.Batch, out []prepared) []prepared {
	f := b.Fork()
	b.Release()
	from, given := len(f.Bad), len(f.Columns)
	for i := range c.computed {
		// Its name would stand in the way of a field that the expression reads.
		c.computed[i].eval.Eval(f, f.AddColumn(""))
	}
	for i := range c.computed {
		f.Columns[given+i].Name = c.computed[i].name
	}
	seen := 0
	f.Columns = slices.DeleteFunc(f.Columns, func(col batch.Column) bool {
		seen++
		return seen <= given && slices.ContainsFunc(c.computed, func(k computedColumn) bool { return k.name == col.Name })
	})
	if len(f.Bad) > from {
		if c.counts != nil {
			c.counts.Rejected.Add(int64(len(f.Bad) - from))
		}
		refused := f.Fork()
		refused.Bad = append([]batch.BadRow(nil), f.Bad[from:]...)
		out = append(out, refusedRows{c.letters, refused})
	}
	return c.next.prepare(f, out)
}

// watermarkColumn is the name of the column that watermarkBranch adds.
const watermarkColumn = "_watermark"

// watermarkBranch adds a column with the stream's watermark when a row passes; null before the first.
type watermarkBranch struct{ next branch }

func (w watermarkBranch) prepare(b *batch.Batch, out []prepared) []prepared {
	f := b.Fork()
	b.Release()
	c, now, k := f.AddColumn(watermarkColumn), f.Before, 0
	for i := range f.N {
		for k < len(f.Marks) && f.Marks[k].After <= uint32(i) {
			now = f.Marks[k].Watermark
			k++
		}
		if now == batch.NoWatermark {
			c.SetNull(i)
		} else {
			c.SetTime(i, now)
		}
	}
	return w.next.prepare(f, out)
}
