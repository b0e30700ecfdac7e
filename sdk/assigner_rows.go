package sdk

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// rowAssigner runs one of the event-at-a-time interfaces over a batch.
type rowAssigner[E any] interface {
	assign(a *Assignment, in *rows[E])
	author() any // the author's value, for its other abilities
}

type periodicRows[E any] struct{ PeriodicAssigner[E] }
type punctuatedRows[E any] struct{ PunctuatedAssigner[E] }
type markerRows[E any] struct{ MarkerAssigner[E] }

func (p periodicRows[E]) author() any   { return p.PeriodicAssigner }
func (p punctuatedRows[E]) author() any { return p.PunctuatedAssigner }
func (p markerRows[E]) author() any     { return p.MarkerAssigner }

func (p periodicRows[E]) assign(a *Assignment, in *rows[E]) {
	previous, times := a.Batch.Times, a.sameTimes()
	for i, t := range previous {
		event, ok := in.at(i)
		if !ok {
			a.Refuse(i, in.code, in.message)
			continue
		}
		times[i] = p.ExtractTimestamp(*event, t)
		if a.EveryRecord {
			a.marks.add(uint32(i+1), int64(p.CurrentWatermark()))
		}
	}
	a.compareTimes()
}

func (p punctuatedRows[E]) assign(a *Assignment, in *rows[E]) {
	previous, times := a.Batch.Times, a.sameTimes()
	for i, t := range previous {
		event, ok := in.at(i)
		if !ok {
			a.Refuse(i, in.code, in.message)
			continue
		}
		t = p.ExtractTimestamp(*event, t)
		times[i] = t
		if w, ok := p.CheckAndGetNextWatermark(*event, t); ok {
			a.marks.add(uint32(i+1), int64(w))
		}
	}
	a.compareTimes()
}

func (p markerRows[E]) assign(a *Assignment, in *rows[E]) {
	previous, times := a.Batch.Times, a.sameTimes()
	for i, t := range previous {
		event, ok := in.at(i)
		if !ok {
			a.Refuse(i, in.code, in.message)
			continue
		}
		if w, ok := p.Marker(*event); ok {
			a.SetMarker(i)
			a.marks.add(uint32(i+1), int64(w))
			continue
		}
		times[i] = p.ExtractTimestamp(*event, t)
	}
	a.compareTimes()
}

// sameTimes are the previous timestamps, to be overwritten without deciding yet whether they have changed.
func (a *Assignment) sameTimes() []int64 {
	a.times = append(a.times[:0], a.Batch.Times...)
	return a.times
}

// compareTimes settles whether they have.
func (a *Assignment) compareTimes() {
	var diff int64
	for i, t := range a.Batch.Times {
		diff |= t ^ a.times[i]
	}
	a.changed = diff != 0
}

// rowsAsBatch makes a BatchAssigner of a rowAssigner.
type rowsAsBatch[E any] struct {
	rowAssigner[E]
	in *rows[E]
}

func (r rowsAsBatch[E]) AssignBatch(a *Assignment) {
	r.in.open(a.Batch)
	r.assign(a, r.in)
}

func newAssignerPlugin[E, C any](name, summary string, style Style, about []About, make func(C) (rowAssigner[E], error)) Plugin {
	d := describe[C](KindAssigner, name, summary)
	s, err := shapeOf[E]()
	if err != nil {
		panic(fmt.Sprintf("sdk: assigner plugin %q: %v", name, err))
	}
	d.Style = style
	s.describe(&d)
	return assignerPlugin(finish(d, about), func(c C) (BatchAssigner, error) {
		r, err := make(c)
		if err != nil {
			return nil, err
		}
		return rowsAsBatch[E]{r, newRows[E](s)}, nil
	})
}

func newBatchAssignerPlugin[C any](name, summary string, style Style, fields []FieldSpec, about []About, make func(C) (BatchAssigner, error)) Plugin {
	d := describe[C](KindAssigner, name, summary)
	d.Style, d.Fields = style, fields
	return assignerPlugin(finish(d, about), make)
}

func assignerPlugin[C any](d Description, make func(C) (BatchAssigner, error)) Plugin {
	p := Plugin{desc: d, check: checkOptions[C]}
	p.assigner = func(o wire.AssignerOpen, r wire.Runtime) (wire.Assigner, error) {
		config, err := decodeOptions[C](o.Options, Env{log: r.Logger, metrics: r.Metrics, place: o.Place})
		if err != nil {
			return nil, err
		}
		return newAssignerRun(d, o, func() (BatchAssigner, error) { return make(config) })
	}
	return p
}

func checkOptions[C any](options []byte) error {
	_, err := decodeOptions[C](options, Env{})
	return err
}

// authorOf is the value behind which other abilities are looked for.
func authorOf(a BatchAssigner) any {
	if r, ok := a.(interface{ author() any }); ok {
		return r.author()
	}
	return a
}

// timesOf are the previous timestamps of a batch, made up in memory where it has none.
func timesOf(b *batch.Batch, memory []int64) []int64 {
	if len(b.Times) == b.N {
		return b.Times
	}
	memory = memory[:0]
	for range b.N {
		memory = append(memory, batch.NoTimestamp)
	}
	return memory
}
