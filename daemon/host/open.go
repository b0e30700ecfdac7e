package host

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Isolation says where an instance runs.
type Isolation string

const (
	InProcess    Isolation = "none"    // inside the daemon; shipped plugins only
	OwnProcess   Isolation = "process" // the default
	anyIsolation Isolation = ""        // OwnProcess
)

// opener is a plugin that is ready to open instances: inside the daemon, or in a process.
type opener struct {
	inner   wire.Plugin // nil: process
	runtime wire.Runtime
	process *process
	desc    sdk.Description
	drop    func()
}

// open is the one place where it is decided where a plugin runs.
func (v *Plugins) open(ctx context.Context, kind sdk.Kind, name string, place wire.Place, isolation Isolation) (opener, error) {
	e, d, err := v.describe(ctx, kind, name)
	if err != nil {
		return opener{}, err
	}
	h := v.host
	if isolation == InProcess {
		if !e.Shipped {
			return opener{}, fmt.Errorf("plugin %s (%s, %s): isolation \"none\" is for shipped plugins only", name, kind, e.Path)
		}
		p, _ := h.shippedPlugin(kind, name)
		log := h.log.With("plugin", name, "kind", string(kind), "pipeline", place.Pipeline, "component", place.Component)
		i := &innerInstance{kind: kind, name: name, place: place, metrics: &wire.Metrics{Log: log}}
		h.mu.Lock()
		h.inner = append(h.inner, i)
		h.mu.Unlock()
		return opener{inner: p, desc: d, runtime: wire.Runtime{Logger: log, Metrics: i.metrics}, drop: func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.inner = slices.DeleteFunc(h.inner, func(x *innerInstance) bool { return x == i })
		}}, nil
	}
	l := launch{kind: kind, name: name, path: e.Path, args: v.args(kind, name), place: place, policy: v.policy(kind, name), stdin: d.Stdin}
	if e.Shipped {
		l.args = h.serveArgs
	}
	p, err := h.start(ctx, l)
	if err != nil {
		return opener{}, err
	}
	return opener{process: p, desc: d, drop: p.stop}, nil
}

// OpenSource starts a source. The instance's Close ends its process too. ctx bounds the start. Errors are *Failure, sdk.OptionErrors, or
// what the plugin says.
func (v *Plugins) OpenSource(ctx context.Context, o wire.SourceOpen, isolation Isolation) (wire.Source, error) {
	p, err := v.open(ctx, sdk.KindSource, o.Plugin, o.Place, isolation)
	if err != nil {
		return nil, err
	}
	var s wire.Source
	if p.inner != nil {
		s, err = p.inner.OpenSource(o, p.runtime)
	} else {
		s, err = opening(ctx, p.process, func(ctx context.Context) (wire.Source, error) { return p.process.wire.OpenSource(ctx, o) })
	}
	if err != nil {
		p.drop()
		return nil, err
	}
	return &openSource{s, p.drop}, nil
}

type openSource struct {
	wire.Source
	drop func()
}

// Hold implements wire.Holder: sources that are none have nothing to be told.
func (s *openSource) Hold(partition uint32, held bool) error {
	if h, ok := s.Source.(wire.Holder); ok {
		return h.Hold(partition, held)
	}
	return nil
}

// Refused implements wire.Refuser likewise.
func (s *openSource) Refused(partition uint32, refused []wire.Refusal) error {
	if r, ok := s.Source.(wire.Refuser); ok {
		return r.Refused(partition, refused)
	}
	return nil
}

func (s *openSource) Close() error {
	err := s.Source.Close()
	s.drop()
	return err
}

// OpenAssigner starts an assigner; see OpenSource.
func (v *Plugins) OpenAssigner(ctx context.Context, o wire.AssignerOpen, isolation Isolation) (wire.Assigner, error) {
	p, err := v.open(ctx, sdk.KindAssigner, o.Plugin, o.Place, isolation)
	if err != nil {
		return nil, err
	}
	var a wire.Assigner
	if p.inner != nil {
		a, err = p.inner.OpenAssigner(o, p.runtime)
	} else {
		a, err = opening(ctx, p.process, func(ctx context.Context) (wire.Assigner, error) {
			return p.process.wire.OpenAssigner(ctx, o, wire.WantedBy(p.desc))
		})
	}
	if err != nil {
		p.drop()
		return nil, err
	}
	if p.inner != nil {
		return &innerAssigner{a, p.drop, p.runtime.Metrics}, nil
	}
	return &openAssigner{a, p.drop, &p.process.calls, p.process.wire}, nil
}

type innerAssigner struct {
	wire.Assigner
	drop    func()
	metrics *wire.Metrics
}

// Metrics reads the instance's counters.
func (a *innerAssigner) Metrics(context.Context) ([]wire.Metric, error) { return a.metrics.Read(), nil }

func (a *innerAssigner) Close() error {
	err := a.Assigner.Close()
	a.drop()
	return err
}

// openAssigner keeps watch over the answers of a process.
type openAssigner struct {
	wire.Assigner
	drop  func()
	watch *callWatch
	wire  *wire.Client
}

// Metrics asks the process for the instance's counters.
func (a *openAssigner) Metrics(ctx context.Context) ([]wire.Metric, error) {
	all, err := a.wire.Metrics(ctx)
	var out []wire.Metric
	for _, m := range all {
		out = append(out, m.Metric)
	}
	return out, err
}

func (a *openAssigner) Assign(b *batch.Batch) error {
	a.watch.asked()
	return a.Assigner.Assign(b)
}

func (a *openAssigner) Tick(partitions []uint32) error {
	a.watch.asked()
	return a.Assigner.Tick(partitions)
}

func (a *openAssigner) Barrier(id uint64) error {
	a.watch.asked()
	return a.Assigner.Barrier(id)
}

func (a *openAssigner) Recv() (wire.AssignerEvent, error) {
	a.watch.wait()
	defer a.watch.answered()
	return a.Assigner.Recv()
}

func (a *openAssigner) Close() error {
	err := a.Assigner.Close()
	a.drop()
	return err
}

// OpenTransform starts a transform; see OpenSource.
func (v *Plugins) OpenTransform(ctx context.Context, o wire.TransformOpen, isolation Isolation) (wire.Transform, error) {
	p, err := v.open(ctx, sdk.KindTransform, o.Plugin, o.Place, isolation)
	if err != nil {
		return nil, err
	}
	var t wire.Transform
	var w *callWatch
	if p.inner != nil {
		t, err = p.inner.OpenTransform(o, p.runtime)
		w = &callWatch{clock: v.host.clock}
	} else {
		t, err = opening(ctx, p.process, func(ctx context.Context) (wire.Transform, error) {
			return p.process.wire.OpenTransform(ctx, o, wire.WantedBy(p.desc))
		})
		w = &p.process.calls
	}
	if err != nil {
		p.drop()
		return nil, err
	}
	return &openTransform{t, p.drop, w}, nil
}

type openTransform struct {
	wire.Transform
	drop  func()
	watch *callWatch
}

func (t *openTransform) Process(b *batch.Batch) error {
	t.watch.asked()
	return t.Transform.Process(b)
}

func (t *openTransform) Barrier(id uint64) error {
	t.watch.asked()
	return t.Transform.Barrier(id)
}

func (t *openTransform) Recv() (wire.TransformEvent, error) {
	t.watch.wait()
	defer t.watch.answered()
	return t.Transform.Recv()
}

func (t *openTransform) Close() error {
	err := t.Transform.Close()
	t.drop()
	return err
}

// OpenWindows starts an aggregate or a window function; see OpenSource.
func (v *Plugins) OpenWindows(ctx context.Context, o wire.WindowsOpen, isolation Isolation) (wire.Windows, error) {
	p, err := v.open(ctx, o.Kind, o.Plugin, o.Place, isolation)
	if err != nil {
		return nil, err
	}
	var t wire.Windows
	w := &callWatch{clock: v.host.clock}
	if p.inner != nil {
		t, err = p.inner.OpenWindows(o, p.runtime)
	} else {
		t, err = opening(ctx, p.process, func(ctx context.Context) (wire.Windows, error) {
			return p.process.wire.OpenWindows(ctx, o, wire.WantedBy(p.desc))
		})
		w = &p.process.calls
	}
	if err != nil {
		p.drop()
		return nil, err
	}
	return &openWindows{t, p.drop, w}, nil
}

type openWindows struct {
	wire.Windows
	drop  func()
	watch *callWatch
}

func (t *openWindows) Fire(b, records *batch.Batch, counts []uint32) error {
	t.watch.asked()
	return t.Windows.Fire(b, records, counts)
}

func (t *openWindows) Recv() (wire.TransformEvent, error) {
	t.watch.wait()
	defer t.watch.answered()
	return t.Windows.Recv()
}

func (t *openWindows) Close() error {
	err := t.Windows.Close()
	t.drop()
	return err
}

// OpenSink starts a sink; see OpenSource. A Write whose context has no deadline gets the call timeout as one.
func (v *Plugins) OpenSink(ctx context.Context, o wire.SinkOpen, isolation Isolation) (wire.Sink, error) {
	p, err := v.open(ctx, sdk.KindSink, o.Plugin, o.Place, isolation)
	if err != nil {
		return nil, err
	}
	var s wire.Sink
	timeout := v.host.callTimeout
	if p.inner != nil {
		s, err = p.inner.OpenSink(o, p.runtime)
	} else {
		s, err = opening(ctx, p.process, func(ctx context.Context) (wire.Sink, error) { return p.process.wire.OpenSink(ctx, o, p.desc.Text) })
		timeout = p.process.callTimeout()
	}
	if err != nil {
		p.drop()
		return nil, err
	}
	return &openSink{Sink: s, drop: p.drop, timeout: timeout, process: p.process}, nil
}

type openSink struct {
	wire.Sink
	drop    func()
	timeout time.Duration
	process *process // nil: inside the daemon
}

func (s *openSink) Write(ctx context.Context, first uint64, b *batch.Batch) error {
	return s.boundedCall(ctx, func(ctx context.Context) error { return s.Sink.Write(ctx, first, b) })
}

func (s *openSink) LastDelivered(ctx context.Context) (number uint64, known bool, err error) {
	err = s.boundedCall(ctx, func(ctx context.Context) (err error) {
		number, known, err = s.Sink.LastDelivered(ctx)
		return err
	})
	return number, known, err
}

func (s *openSink) Close() error {
	err := s.Sink.Close()
	s.drop()
	return err
}
