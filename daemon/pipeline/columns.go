package pipeline

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/transform"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// columnizer turns a batch's raw rows into columns and times, and refuses what it cannot. Each worker has its own.
type columnizer struct {
	decoder   *decode.Decoder // nil when batches come with columns
	computed  []computedColumn
	timestamp *computedColumn
	times     *decode.Timestamps
	defers    bool // rows without a time are refused only after the assigner has seen them: they may be markers
	scratch   []int64
}

// computedColumn is an expression over a row, written to a column.
type computedColumn struct {
	name string
	time bool // the value is read as a time
	eval *transform.Evaluator
	read string // the field it is, when it is nothing else
}

func newColumnizer(s *plan.Source) (*columnizer, error) {
	c := &columnizer{}
	if s.Decode != nil {
		d, errs := decode.New(*s.Decode)
		if len(errs) > 0 {
			return nil, errs
		}
		c.decoder = d
	}
	if s.Assigner != nil {
		c.defers = s.Assigner.Style == sdk.Marker
		for _, col := range s.Assigner.Columns {
			computed, err := newComputed(col)
			if err != nil {
				return nil, err
			}
			c.computed = append(c.computed, computed)
		}
	}
	needsTimes := s.Timestamp != nil
	for _, col := range c.computed {
		needsTimes = needsTimes || col.time
	}
	if needsTimes {
		t, err := decode.NewTimestamps(s.TimeUnit.Unit, s.TimeUnit.Options)
		if err != nil {
			return nil, fmt.Errorf("unit: %w", err)
		}
		c.times = t
	}
	if s.Timestamp != nil {
		computed, err := newComputed(*s.Timestamp)
		if err != nil {
			return nil, err
		}
		c.timestamp = &computed
	}
	return c, nil
}

func newComputed(col plan.Column) (computedColumn, error) {
	out := computedColumn{name: col.Name, time: col.Time, read: col.Field}
	p, mistakes := transform.Compile(col.Expr, transform.Schema{}, transform.TypeAny)
	if len(mistakes) > 0 {
		return out, fmt.Errorf("%s: %w", col.At, mistakes)
	}
	out.eval = p.Evaluator()
	return out, nil
}

// Columns fills b.Columns and b.Times. Rows of b.Bad behind those that are there when it returns may be refused later, see deferred.
func (c *columnizer) Columns(b *batch.Batch, now int64) (deferred []batch.BadRow) {
	if c.decoder != nil {
		c.decoder.SetReference(now)
		c.decoder.Decode(b)
	}
	if c.times != nil {
		c.times.SetReference(now)
	}
	for i := range c.computed {
		c.compute(b, &c.computed[i])
	}
	if c.timestamp == nil {
		if len(b.Times) != b.N {
			b.Times = b.Times[:0]
			for range b.N {
				b.Times = append(b.Times, batch.NoTimestamp)
			}
		}
		return nil
	}
	for len(b.Times) < b.N {
		b.Times = append(b.Times, batch.NoTimestamp)
	}
	col := b.Column(c.timestamp.read)
	if c.timestamp.read == "" || col == nil {
		col = b.AddColumn(c.timestamp.name)
		c.timestamp.eval.Eval(b, col)
	}
	if !c.defers {
		c.times.Column(b, col, b.Times)
		return nil
	}
	// The refusals are taken back and kept aside.
	view := b.Fork()
	c.times.Column(view, view.Column(col.Name), b.Times)
	deferred = view.Bad
	view.Release()
	return deferred
}

// compute evaluates a column for an assigner plugin.
func (c *columnizer) compute(b *batch.Batch, k *computedColumn) {
	name := k.name
	if b.Column(name) != nil {
		if k.read == name && !k.time {
			return
		}
		name = batch.Aside(name) // see present
	}
	if !k.time {
		k.eval.Eval(b, b.AddColumn(name))
		return
	}
	// A time: rows where there is none, or something that is no time, keep what they have; the plugin refuses them if it needs it.
	raw := b.AddColumn(name)
	k.eval.Eval(b, raw)
	view := b.Fork()
	sel := view.Select()[:0]
	for _, r := range view.Select() {
		if !raw.IsNull(int(r)) {
			sel = append(sel, r)
		}
	}
	view.Sel = sel
	for len(c.scratch) < b.N {
		c.scratch = append(c.scratch, 0)
	}
	c.times.Column(view, raw, c.scratch)
	for _, r := range view.Sel {
		raw.Set(int(r), batch.Time, uint64(c.scratch[r]))
	}
	view.Release()
}

// notices returns what is worth telling once.
func (c *columnizer) notices() []decode.Notice {
	var out []decode.Notice
	if c.decoder != nil {
		out = c.decoder.Notices()
	}
	if c.times != nil {
		for n, ok := c.times.Notice(); ok; n, ok = c.times.Notice() {
			out = append(out, n)
		}
	}
	return out
}
