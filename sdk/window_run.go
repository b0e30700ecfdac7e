package sdk

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Columns of windows, see [Window].
const (
	windowStart = "window_start"
	windowEnd   = "window_end"
)

func newWindowPlugin[In, Out, C any](name, summary string, about []About, make func(C) (WindowFunction[In, Out], error)) Plugin {
	d := describe[C](KindWindow, name, summary)
	in, err := shapeOfWindowed[In]()
	if err == nil {
		var out *shape
		if out, err = shapeOf[Out](); err == nil && out.raw {
			err = errors.New("a window function gives a struct with tidemark tags, or sdk.Record")
		}
		if err == nil {
			in.describe(&d)
			d.Output = out.columns()
			return windowsPlugin(finish(d, about), func(c C, env Env, _ wire.WindowsOpen) (firing, error) {
				f, err := make(c)
				if err != nil {
					return nil, err
				}
				return &processing[In, Out]{f: f, in: newRows[In](in), out: newEventWriter[Out](out), env: env}, nil
			})
		}
	}
	panic(fmt.Sprintf("sdk: window plugin %q: %v", name, err))
}

// shapeOfWindowed is the shape of a record in a window, of which only fields are kept.
func shapeOfWindowed[In any]() (*shape, error) {
	s, err := shapeOf[In]()
	if err != nil {
		return nil, err
	}
	raw := s.raw
	for _, f := range s.fields {
		raw = raw || f.raw
	}
	if raw {
		return nil, errors.New("a window keeps fields of its records and not their bytes: raw cannot be had")
	}
	return s, nil
}

// processing runs a WindowFunction over windows.
type processing[In, Out any] struct {
	f     WindowFunction[In, Out]
	in    *rows[In]
	out   *eventWriter[Out]
	env   Env
	texts texts
}

func (p *processing[In, Out]) fire(w *windowsCall) error {
	p.in.open(w.records)
	start, end := w.windows.Column(windowStart), w.windows.Column(windowEnd)
	at, i := 0, 0
	emit := func(out Out) {
		p.out.write(w.out, &out)
		w.out.N++
		w.origin = append(w.origin, uint32(i))
	}
	for ; i < w.windows.N; i++ {
		from, to := at, at+int(w.counts[i])
		at = to
		win := Window{Start: NoTimestamp, End: int64(EndOfInput), Values: Record{b: w.windows, row: i, texts: &p.texts}}
		if start != nil && end != nil && !start.IsNull(i) && !end.IsNull(i) {
			win.Start, win.End = int64(start.Bits[i]), int64(end.Bits[i])
		}
		left := int64(0)
		records := func(yield func(int64, In) bool) {
			left = 0
			for row := from; row < to; row++ {
				event, ok := p.in.at(row)
				if !ok {
					left++
					continue
				}
				if !yield(w.records.Times[row], *event) {
					return
				}
			}
		}
		err := p.f.Process(win, records, emit)
		countLeftOut(p.env, left)
		if err == nil {
			continue
		}
		if k := len(w.origin); k > 0 && w.origin[k-1] == uint32(i) {
			return fmt.Errorf("the window function emitted rows and then refused the window: %w", err)
		}
		w.bad = append(w.bad, batch.BadRow{Row: uint32(i), Code: "refused", Message: err.Error()})
	}
	return nil
}

// firing is what an aggregate and a window function have in common.
type firing interface{ fire(w *windowsCall) error }

// windowsCall is one call: windows without a selection, and the answer in the making.
type windowsCall struct {
	windows, records *batch.Batch
	counts           []uint32

	out    *batch.Batch
	origin []uint32
	bad    []batch.BadRow
}

func windowsPlugin[C any](d Description, make_ func(C, Env, wire.WindowsOpen) (firing, error)) Plugin {
	p := Plugin{desc: d, check: checkOptions[C]}
	p.windows = func(o wire.WindowsOpen, r wire.Runtime) (wire.Windows, error) {
		env := Env{log: r.Logger, metrics: r.Metrics, place: o.Place}
		config, err := decodeOptions[C](o.Options, env)
		if err != nil {
			return nil, err
		}
		f, err := make_(config, env, o)
		if err != nil {
			return nil, asOptionErrors(err)
		}
		return &windowsRun{what: fmt.Sprintf("%s %s", d.Kind, d.Name), f: f, answers: make(chan wire.TransformEvent, wire.Credits), closed: make(chan struct{})}, nil
	}
	return p
}

// windowsRun is a running aggregate or window function. It works in the goroutine of its caller; answers wait in a channel.
type windowsRun struct {
	what   string
	f      firing
	dense  batch.Batch
	memory wire.DenseMemory

	answers chan wire.TransformEvent
	closing sync.Once
	closed  chan struct{}
}

func (r *windowsRun) Fire(b, records *batch.Batch, counts []uint32) error {
	w := windowsCall{windows: b, records: records, counts: counts, out: batch.Get()}
	if b.Sel != nil {
		wire.Dense(&r.dense, b, &r.memory, false)
		w.windows = &r.dense
	}
	err := wire.CheckWindows(w.windows.N, records.N, counts)
	if err == nil {
		err = protect(func() error { return r.f.fire(&w) })
	}
	if err == nil {
		err = wire.CheckTransformed(&w.origin, w.out.N, w.windows.N)
	}
	if err != nil {
		w.out.Release()
		return fmt.Errorf("%s: %w", r.what, err)
	}
	e := wire.TransformEvent{In: b, Out: w.out, Origin: wire.ApplyTransformed(b, w.out, w.origin, w.bad)}
	select {
	case r.answers <- e:
		return nil
	case <-r.closed:
		return io.ErrClosedPipe
	}
}

func (r *windowsRun) Recv() (wire.TransformEvent, error) {
	select {
	case e := <-r.answers:
		return e, nil
	case <-r.closed:
		return wire.TransformEvent{}, io.EOF
	}
}

func (r *windowsRun) Close() error {
	r.closing.Do(func() { close(r.closed) })
	return nil
}
