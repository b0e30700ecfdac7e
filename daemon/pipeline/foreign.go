package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state"
)

// foreign is a step that a transform plugin does. Batches of all its inputs go to the plugin one after the other, up to wire.Credits of them
// at a time, and come back in the same order; marks, idleness and barriers keep their places between them.
type foreign struct {
	step    *plan.Step
	plugin  wire.Transform
	fold    *fold      // plugin, when it works on windows
	dropped [][]string // of a plugin that wants all fields: those that each input has no more
	ward    *ward
	node    *sinkNode        // joins the inputs and aligns barriers
	valve   *watermark.Valve // with several inputs
	queue   chan foreignItem // what has been sent and not come back
	main    *port
	letters []*letterWriter // one for each path
	coord   *coordinator
	events  []watermark.Event // under the node's lock
	stands  int64             // the combined watermark; under the node's lock
	counts  *stepCounts
	out     []prepared
}

// foreignItem is one thing on its way through the plugin.
type foreignItem struct {
	batch   *batch.Batch // nil: one of the others
	asked   bool         // the plugin answers it
	marks   []batch.Mark // without rows
	refused *batch.Batch // rows that the plugin does not get
	barrier uint64
	valve   []byte
	stands  int64
	idle    int8 // 1: idle, -1: active
	letters *letterWriter
}

// foreignInput is one input as an end of a port.
type foreignInput struct {
	to      *foreign
	input   int
	letters *letterWriter
}

func (f *foreignInput) prepare(b *batch.Batch, out []prepared) []prepared {
	if b.Alive() == 0 && len(b.Marks) == 0 {
		b.Release()
		return out
	}
	return append(out, foreignRows{f, b})
}

func (f *foreignInput) barrier(id uint64) error { return f.to.node.bring(f.input, id) }

func (f *foreignInput) idle(idle bool) error {
	t := f.to
	return t.node.do(f.input, func() error {
		if t.valve == nil {
			return t.put(foreignItem{idle: direction(idle)})
		}
		if idle {
			t.events = t.valve.Idle(f.input, t.events[:0])
		} else {
			t.events = t.valve.Active(f.input, t.events[:0])
		}
		for _, e := range t.events {
			it := foreignItem{idle: direction(e.Kind == watermark.Idle)}
			if e.Kind == watermark.Rise {
				it = foreignItem{marks: []batch.Mark{{Watermark: e.Watermark}}}
			}
			if err := t.put(it); err != nil {
				return err
			}
		}
		return nil
	})
}

func direction(idle bool) int8 {
	if idle {
		return 1
	}
	return -1
}

// foreignRows are rows for the plugin.
type foreignRows struct {
	in    *foreignInput
	batch *batch.Batch
}

func (f foreignRows) send() error {
	t := f.in.to
	return t.node.do(f.in.input, func() error {
		b := f.batch.Fork() // its marks become those of all inputs together
		f.batch.Release()
		if t.dropped != nil {
			drop(b, t.dropped[f.in.input])
		}
		b.Marks = t.combine(f.in.input, b.Marks)
		t.counts.In.Add(int64(b.Alive()))
		if err := t.process(b, f.in.letters); err != nil {
			return err
		}
		return t.putIdle()
	})
}

// drop has a fork of a batch say of fields that they are missing. They still stand in the whole records, where a plugin that wants all fields
// would find them.
func drop(b *batch.Batch, names []string) {
	b.Columns = slices.DeleteFunc(b.Columns, func(c batch.Column) bool { return slices.Contains(names, c.Name) })
	for _, name := range names {
		c := b.AddColumn(name)
		for i := range b.N {
			c.SetMissing(i)
		}
	}
}

// process gives a batch to the plugin. What has no rows passes it by.
func (t *foreign) process(b *batch.Batch, letters *letterWriter) error {
	var suspects map[uint32]recordID
	if t.ward.watchful.Load() && b.Alive() > 0 {
		suspects = t.ward.inspect(b)
	}
	if b.Alive() == 0 {
		it := foreignItem{marks: b.Marks}
		if len(b.Bad) > 0 {
			it.refused, it.letters = b, letters
		} else {
			b.Release()
		}
		if len(it.marks) == 0 && it.refused == nil {
			return nil
		}
		return t.put(it)
	}
	if suspects != nil {
		return t.ward.carefully(t.node.ctx, b, suspects, func(part *batch.Batch) error { return t.ask(part, letters) })
	}
	if t.fold == nil {
		return t.ask(b, letters)
	}
	pieces := inPieces(b, t.fold.size(b), foldBytes)
	for i, piece := range pieces {
		if err := t.ask(piece, letters); err != nil {
			for _, rest := range pieces[i+1:] {
				rest.Release()
			}
			return err
		}
	}
	return nil
}

func (t *foreign) ask(b *batch.Batch, letters *letterWriter) error {
	t.ward.give(b)
	if err := t.plugin.Process(b); err != nil {
		err = reason(t.node.ctx, err)
		t.ward.failed(t.node.ctx, err)
		return err
	}
	return t.put(foreignItem{batch: b, asked: true, letters: letters})
}

// putIdle tells that the input that has just ended was the last active one.
func (t *foreign) putIdle() error {
	for _, e := range t.events {
		if e.Kind == watermark.Idle {
			if err := t.put(foreignItem{idle: direction(true)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// combine gives a batch the marks of all inputs together.
func (t *foreign) combine(input int, marks []batch.Mark) []batch.Mark {
	out := append([]batch.Mark(nil), marks...)
	t.events = t.events[:0]
	if n := len(out); t.valve != nil && n > 0 {
		last := out[n-1]
		ends := last.Watermark == batch.EndOfInput
		if ends {
			out = out[:n-1]
		}
		out = t.valve.Apply(input, out, nil)
		if ends {
			t.events = t.valve.End(input, t.events[:0])
			for _, e := range t.events {
				if e.Kind == watermark.Rise {
					out = append(out, batch.Mark{After: last.After, Watermark: e.Watermark})
				}
			}
		}
	}
	if n := len(out); n > 0 {
		t.stands = out[n-1].Watermark
	}
	return out
}

func (t *foreign) put(it foreignItem) error {
	select {
	case t.queue <- it:
		return nil
	case <-t.node.ctx.Done():
		return context.Cause(t.node.ctx)
	}
}

// cut is called when all inputs have brought a barrier.
func (t *foreign) cut(barrier uint64) error {
	it := foreignItem{barrier: barrier, stands: t.stands}
	if !isProbe(barrier) {
		if t.valve != nil {
			it.valve = t.valve.Snapshot(nil)
		}
		t.ward.barrier(barrier)
		if t.fold == nil { // which has no state
			if err := t.plugin.Barrier(barrier); err != nil {
				return reason(t.node.ctx, err)
			}
			it.asked = true
		}
	}
	return t.put(it)
}

// run takes answers and hands them on.
func (t *foreign) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = t.plugin.Close() }) // wakes Recv
	defer stop()
	for {
		select {
		case it := <-t.queue:
			if err := t.handOn(ctx, it); err != nil {
				return quiet(ctx, err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (t *foreign) handOn(ctx context.Context, it foreignItem) error {
	var ev wire.TransformEvent
	if it.asked {
		var err error
		if ev, err = t.plugin.Recv(); err != nil {
			t.ward.failed(ctx, err)
			return err
		}
		if it.batch != nil {
			t.ward.took()
		}
	}
	if it.refused != nil {
		if err := t.reject(it.refused, it.letters); err != nil {
			return err
		}
		it.refused.Release()
		if len(it.marks) == 0 {
			return nil
		}
	}
	switch {
	case it.batch != nil:
		b := it.batch
		if err := t.reject(b, it.letters); err != nil {
			return err
		}
		t.counts.Out.Add(int64(ev.Out.Alive()))
		ev.Out.Source, ev.Out.Partition, ev.Out.Before = b.Source, b.Partition, b.Before
		b.Release()
		t.out = t.main.prepare(ev.Out, t.out[:0])
		return sendAll(t.out)
	case len(it.marks) > 0:
		b := batch.Get()
		b.Marks = append(b.Marks, it.marks...)
		t.out = t.main.prepare(b, t.out[:0])
		return sendAll(t.out)
	case it.idle != 0:
		return t.main.idle(it.idle > 0)
	}
	snap, st := stageSnapshot{watermark: it.stands, valve: it.valve}, append([]byte(nil), ev.State...)
	err := t.coord.contribute(ctx, it.barrier, func(c *cut) {
		if !isProbe(it.barrier) {
			c.stages[t.step.Name] = snap
		}
		if it.asked {
			c.foreign = append(c.foreign, foreignState{t.step.Name, checkpoint.Owned(t.step.Plugin.Name, st)})
		}
	})
	if err != nil {
		return err
	}
	for _, w := range t.letters {
		if err := w.readers.barrier(it.barrier); err != nil {
			return err
		}
	}
	return t.main.barrier(it.barrier)
}

// reject brings the refused rows of a batch where they belong.
func (t *foreign) reject(b *batch.Batch, letters *letterWriter) error {
	if len(b.Bad) == 0 {
		return nil
	}
	t.counts.Rejected.Add(int64(len(b.Bad)))
	return letters.refused(b)
}

// foreignState is a transform plugin's snapshot in a commit.
type foreignState struct {
	name  string
	state []byte
}

func (f foreignState) Contribute(d *state.Delta) { d.Put(checkpoint.TransformName(f.name), f.state) }

// openForeign starts a step's plugin and gives it its state back.
func (a *attempt) openForeign(ctx context.Context, s *plan.Step) error {
	a.p.opens("transform " + s.Name)
	t := &foreign{step: s, coord: a.coord, queue: make(chan foreignItem, wire.Credits), counts: a.counts.step(s.Name), stands: batch.NoWatermark}
	var err error
	if s.Fold != nil {
		if t.fold, err = a.openFold(ctx, s); err != nil {
			return err
		}
		t.plugin = t.fold
		a.onClose(t.plugin.Close)
		t.ward = a.ward(fmt.Sprintf("%s %s of transform %s", s.Plugin.Kind, s.Plugin.Name, s.Fold.Of), false)
		t.node = newSinkNode(a.ctx, s.Name, a.graph.inputs[s.Name], nil, t.cut)
		a.foreigners[s.Name] = t
		return nil
	}
	t.plugin, err = a.p.set.Plugins.OpenTransform(ctx, wire.TransformOpen{
		Plugin: s.Plugin.Name, Options: s.Plugin.Options, Place: wire.Place{Pipeline: a.plan.Name, Component: s.Name},
	}, host.Isolation(s.Plugin.Isolation))
	if err != nil {
		return err
	}
	a.onClose(t.plugin.Close)
	if s.Plugin.All {
		for _, in := range s.Inputs {
			t.dropped = append(t.dropped, in.Shape.Dropped)
		}
	}
	t.ward = a.ward(fmt.Sprintf("transform %s", s.Name), false)
	stored, err := a.store.Meta(checkpoint.TransformName(s.Name))
	if err != nil {
		return err
	}
	st, another := checkpoint.StateOf(s.Plugin.Name, stored)
	if another != "" {
		a.p.set.Log.Warn(beginsAnew, "component", s.Name, "plugin", s.Plugin.Name, "before", another)
	}
	if len(st) > 0 {
		if err := t.plugin.Restore(st); err != nil {
			return fmt.Errorf("restore its state: %w", err)
		}
	}
	if n := a.graph.inputs[s.Name]; n > 1 {
		t.valve = watermark.NewValve(n, 1, 0)
		if err := a.graph.restoreInputs(s.Name, t.valve, a.restored.Snapshot.Stages[s.Name].Valve); err != nil {
			return err
		}
	}
	t.node = newSinkNode(a.ctx, s.Name, a.graph.inputs[s.Name], nil, t.cut)
	a.foreigners[s.Name] = t
	return nil
}
