package sdk

import (
	"fmt"
	"io"
	"sync"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// transformRun is a running transform. It works in the goroutine of its caller; answers wait in a channel.
type transformRun struct {
	name      string
	transform BatchTransform
	raw       bool
	dense     batch.Batch
	memory    wire.DenseMemory

	answers chan wire.TransformEvent
	closing sync.Once
	closed  chan struct{}
}

func newTransformPlugin[In, Out, C any](name, summary string, about []About, make func(C) (Transform[In, Out], error)) Plugin {
	d := describe[C](KindTransform, name, summary)
	in, err := shapeOf[In]()
	if err == nil {
		var out *shape
		if out, err = shapeOf[Out](); err == nil {
			in.describe(&d)
			d.Output = out.columns()
			return transformPlugin(finish(d, about), func(c C) (BatchTransform, error) {
				t, err := make(c)
				if err != nil {
					return nil, err
				}
				return &rowsTransform[In, Out]{t: t, in: newRows[In](in), out: newEventWriter[Out](out)}, nil
			})
		}
	}
	panic(fmt.Sprintf("sdk: transform plugin %q: %v", name, err))
}

func newBatchTransformPlugin[C any](name, summary string, fields, output []FieldSpec, about []About, make func(C) (BatchTransform, error)) Plugin {
	d := describe[C](KindTransform, name, summary)
	d.Fields, d.Output = fields, output
	return transformPlugin(finish(d, about), make)
}

func transformPlugin[C any](d Description, make_ func(C) (BatchTransform, error)) Plugin {
	p := Plugin{desc: d, check: checkOptions[C]}
	p.transform = func(o wire.TransformOpen, r wire.Runtime) (wire.Transform, error) {
		config, err := decodeOptions[C](o.Options, Env{log: r.Logger, metrics: r.Metrics, place: o.Place})
		if err != nil {
			return nil, err
		}
		t, err := make_(config)
		if err != nil {
			return nil, asOptionErrors(err)
		}
		return &transformRun{name: d.Name, raw: d.Raw, transform: t, answers: make(chan wire.TransformEvent, wire.Credits), closed: make(chan struct{})}, nil
	}
	return p
}

// rowsTransform runs a Transform over batches.
type rowsTransform[In, Out any] struct {
	t   Transform[In, Out]
	in  *rows[In]
	out *eventWriter[Out]
}

func (r *rowsTransform[In, Out]) author() any { return r.t }

func (r *rowsTransform[In, Out]) ProcessBatch(t *Transformation) error {
	r.in.open(t.In)
	row := 0
	emit := func(out Out) {
		r.out.write(t.Out, &out)
		t.Out.N++
		t.Origin = append(t.Origin, uint32(row))
	}
	for ; row < t.In.N; row++ {
		event, ok := r.in.at(row)
		if !ok {
			t.Bad = append(t.Bad, batch.BadRow{Row: uint32(row), Code: r.in.code, Message: r.in.message})
			continue
		}
		if err := r.t.Process(*event, emit); err != nil {
			if k := len(t.Origin); k > 0 && t.Origin[k-1] == uint32(row) {
				return fmt.Errorf("the transform emitted records and then refused the record: %w", err)
			}
			t.Bad = append(t.Bad, batch.BadRow{Row: uint32(row), Code: "refused", Message: err.Error()})
		}
	}
	return nil
}

func (r *transformRun) Process(b *batch.Batch) error {
	in := b
	if b.Sel != nil {
		wire.Dense(&r.dense, b, &r.memory, r.raw)
		in = &r.dense
	}
	t := Transformation{In: in, Out: batch.Get()}
	err := protect(func() error { return r.transform.ProcessBatch(&t) })
	if err == nil {
		err = wire.CheckTransformed(&t.Origin, t.Out.N, in.N)
	}
	if err != nil {
		t.Out.Release()
		return fmt.Errorf("transform %s: %w", r.name, err)
	}
	return r.answer(wire.TransformEvent{In: b, Out: t.Out, Origin: wire.ApplyTransformed(b, t.Out, t.Origin, t.Bad)})
}

func (r *transformRun) Barrier(id uint64) error {
	e := wire.TransformEvent{Barrier: id}
	if s, ok := authorOfTransform(r.transform).(Snapshotter); ok {
		var err error
		if e.State, err = s.Snapshot(); err != nil {
			return fmt.Errorf("snapshot of transform %s: %w", r.name, err)
		}
	}
	return r.answer(e)
}

func (r *transformRun) Restore(state []byte) error {
	if len(state) == 0 {
		return nil
	}
	s, ok := authorOfTransform(r.transform).(Snapshotter)
	if !ok {
		return fmt.Errorf("there is a snapshot, but transform %s cannot restore one", r.name)
	}
	return s.Restore(state)
}

func authorOfTransform(t BatchTransform) any {
	if r, ok := t.(interface{ author() any }); ok {
		return r.author()
	}
	return t
}

func (r *transformRun) answer(e wire.TransformEvent) error {
	select {
	case r.answers <- e:
		return nil
	case <-r.closed:
		return io.ErrClosedPipe
	}
}

func (r *transformRun) Recv() (wire.TransformEvent, error) {
	select {
	case e := <-r.answers:
		return e, nil
	case <-r.closed:
		return wire.TransformEvent{}, io.EOF
	}
}

func (r *transformRun) Close() error {
	r.closing.Do(func() { close(r.closed) })
	return nil
}
