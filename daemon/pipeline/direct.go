package pipeline

import (
	"context"
	"sync"

	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

type directOutlet struct {
	sink   wire.Sink
	counts *sinkCounts
	next   uint64
	mu     sync.Mutex
}

func (d *directOutlet) Append(b *batch.Batch) error {
	defer b.Release()
	first := d.next + 1
	d.next += uint64(b.N)
	d.counts.Rows.Add(int64(b.N))
	return d.sink.Write(context.Background(), first, b)
}
func (d *directOutlet) finish(ctx context.Context) {}

func (a *attempt) openSinks(ctx context.Context) error {
	for _, s := range a.plan.Sinks {
		w, err := a.p.set.Plugins.OpenSink(ctx, wire.SinkOpen{Plugin: s.Plugin.Name, Options: s.Plugin.Options, Place: wire.Place{Pipeline: a.plan.Name, Component: s.Name}}, isolation(s.Plugin.Isolation))
		if err != nil {
			return err
		}
		a.onClose(w.Close)
		o := &directOutlet{sink: w, counts: a.counts.sinks[s.Name]}
		a.outlets = append(a.outlets, o)
		a.sinks[s.Name] = newSinkNode(a.ctx, s.Name, a.graph.inputs[s.Name], o, func(barrier uint64) error {
			return a.coord.contribute(a.ctx, barrier, func(*cut) {})
		})
	}
	return nil
}

func (a *attempt) notice(source string) func(decode.Notice) {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(n decode.Notice) {
		mu.Lock()
		defer mu.Unlock()
		if !seen[n.Code] {
			seen[n.Code] = true
			a.p.set.Log.Warn(n.Message, "source", source)
		}
	}
}

// drain waits until the sinks have taken everything.
func (a *attempt) drain(ctx context.Context) error {
	for _, o := range a.outlets {
		o.finish(ctx)
	}
	return nil
}
