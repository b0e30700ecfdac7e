package sdk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

type retryError struct {
	after time.Duration
	error
}

func (e *retryError) Unwrap() error { return e.error }

func (e *RowsRefused) Error() string {
	if len(e.Rows) == 0 {
		return "no row was refused"
	}
	return fmt.Sprintf("%d rows were refused; row %d: %s", len(e.Rows), e.Rows[0].Row, e.Rows[0].Message)
}

// sinkRun is a running sink.
type sinkRun struct {
	sink   Sink
	dense  batch.Batch // the view of the selected rows
	memory wire.DenseMemory

	closing sync.Once
	closed  error
}

func newSinkPlugin[C any](name, summary string, traits SinkTraits, about []About, newSink func(context.Context, C) (Sink, error)) Plugin {
	d := describe[C](KindSink, name, summary)
	if d.Delivery = traits.Delivery; d.Delivery == "" {
		d.Delivery = AtLeastOnce
	}
	d.Text = traits.Text
	d = finish(d, about)
	p := Plugin{desc: d, check: checkOptions[C]}
	p.sink = func(o wire.SinkOpen, r wire.Runtime) (wire.Sink, error) {
		config, err := decodeOptions[C](o.Options, Env{log: r.Logger, metrics: r.Metrics, place: o.Place})
		if err != nil {
			return nil, err
		}
		var sink Sink
		err = protect(func() (err error) {
			sink, err = newSink(context.Background(), config)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("open sink %s: %w", name, err)
		}
		if _, ok := sink.(Resumer); d.Delivery == Transactional && !ok {
			_ = sink.Close()
			return nil, fmt.Errorf("sink %s says that it is transactional, but has no LastDelivered", name)
		}
		return &sinkRun{sink: sink}, nil
	}
	return p
}

func (r *sinkRun) LastDelivered(ctx context.Context) (n uint64, known bool, err error) {
	s, ok := r.sink.(Resumer)
	if !ok {
		return 0, false, nil
	}
	err = protect(func() (err error) {
		n, err = s.LastDelivered(ctx)
		return err
	})
	return n, true, err
}

func (r *sinkRun) Write(ctx context.Context, first uint64, b *batch.Batch) error {
	if b.Sel != nil {
		if len(b.Offsets) > 0 {
			r.denseRows(b)
		} else {
			wire.Dense(&r.dense, b, &r.memory, false)
		}
		b = &r.dense
	}
	err := protect(func() error { return r.sink.Write(ctx, Rows{First: first, Batch: b}) })
	if err == nil {
		return nil
	}
	return sinkError(err)
}

// denseRows copies the selected raw rows, so that those of a text sink stand side by side.
func (r *sinkRun) denseRows(b *batch.Batch) {
	d := &r.dense
	d.Reset()
	d.N, d.Trailer, d.Partition = len(b.Sel), b.Trailer, b.Partition
	d.Offsets = append(d.Offsets, 0)
	for _, row := range b.Sel {
		d.Data = append(d.Data, b.Data[b.Offsets[row]:b.Offsets[row+1]]...)
		d.Offsets = append(d.Offsets, uint32(len(d.Data)))
	}
}

// sinkError keeps what an author's error says beside its text.
func sinkError(err error) *wire.SinkError {
	e := &wire.SinkError{Message: err.Error()}
	var refused *RowsRefused
	var permanent *permanentError
	var retry *retryError
	switch {
	case errors.As(err, &refused):
		e.Refused = refused.Rows
	case errors.As(err, &permanent):
		e.Permanent = true
	case errors.As(err, &retry):
		e.After = retry.after
	}
	return e
}

func (r *sinkRun) Close() error {
	r.closing.Do(func() { r.closed = protect(r.sink.Close) })
	return r.closed
}
