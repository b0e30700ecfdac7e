package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/failpoint"
	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/shard"
	"github.com/tidemark-stream/tidemark/daemon/transform"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// build makes an attempt's parts: the store and what it remembers, sinks, stages, and last the sources, which begin to read.
func (p *Pipeline) build(ctx context.Context) (_ *attempt, err error) {
	hard, cancel := context.WithCancelCause(context.Background())
	a := &attempt{
		p: p, plan: p.plan, graph: newGraph(p.plan), ctx: hard, cancel: cancel,
		workers: orCPUs(p.plan.DecodeWorkers, p.set.Workers), shards: orCPUs(p.plan.Shards, p.set.Workers),
		stages: map[string]*stageNode{}, sinks: map[string]*sinkNode{}, coord: newCoordinator(),
		counts: newCounts(p.plan), foreigners: map[string]*foreign{},
	}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	a.stopAsked, a.askStop = context.WithCancel(hard)
	a.pool = newPool(a.workers)
	a.memory, a.settled = newMemory(p.plan.State.Memory, a.coord.want), newSettled()
	a.memory.parts = windowParts(p.plan, a.shards)
	var names []string
	for _, s := range p.plan.Sources {
		names = append(names, s.Name)
	}
	a.places = newPlaces(names)
	for i, s := range p.plan.Sources {
		a.places.clocked[i] = s.Rule == plan.ProcessingTime
	}
	if err := a.openState(ctx); err != nil {
		return nil, err
	}
	if err := a.openSinks(ctx); err != nil {
		return nil, err
	}
	a.box = &letterBox{letters: a.letters}
	for _, s := range p.plan.Steps {
		if keyed(s) {
			if err := a.makeStage(s); err != nil {
				return nil, fmt.Errorf("transform %s: %w", s.Name, err)
			}
		}
		if s.Plugin != nil {
			if err := a.openForeign(ctx, s); err != nil {
				return nil, fmt.Errorf("transform %s: %w", s.Name, err)
			}
		}
	}
	for _, t := range a.foreigners {
		if t.main, err = a.port(a.graph.stages[t.step.Name].main); err != nil {
			return nil, err
		}
	}
	for _, s := range a.stages {
		if err := a.wireStage(s); err != nil {
			return nil, fmt.Errorf("transform %s: %w", s.step.Name, err)
		}
	}
	members := newAlignments(p.plan)
	for i, s := range p.plan.Sources {
		l, err := a.makeLane(ctx, uint32(i), s, members[i])
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", s.Name, err)
		}
		a.lanes = append(a.lanes, l)
	}
	a.left = len(a.lanes)
	a.box.node = newSinkNode(hard, "dead letters", a.boxInputs, nil, a.cutLetters)
	a.startCoordinator()
	failpoint.Hit(failpoint.RecoverRestored)
	return a, nil
}

// port builds the readers of a port for one worker. letters of stateless steps are written by whoever sends what the worker prepares.
func (a *attempt) port(readers []*path) (*port, error) {
	p := &port{}
	for _, r := range readers {
		b, ends, err := a.branch(r)
		if err != nil {
			return nil, err
		}
		p.branches = append(p.branches, b)
		p.ends = append(p.ends, ends...)
	}
	return p, nil
}

// errorPort builds the writer of a component's refused or late rows. Where nobody reads the port it writes to the box.
func (a *attempt) letterWriter(component string, name plan.Port, readers []*path) (*letterWriter, error) {
	p, err := a.port(readers)
	if err != nil {
		return nil, err
	}
	w := &letterWriter{component: component, port: string(name), places: a.places, now: a.now, readers: p, seen: a.p.set.Seen}
	if len(readers) == 0 {
		w.box = &letterInput{box: a.box, input: a.boxInputs}
		a.boxInputs++
		p.ends = append(p.ends, *w.box)
		w.counted = func(n int) { a.counts.deadLetters.Add(int64(n)) }
	}
	return w, nil
}

// branch builds one reader, and lists the inputs that can be reached through it.
func (a *attempt) branch(r *path) (branch, []terminal, error) {
	var b branch
	var ends []terminal
	computed := r.in.Computed
	letters, err := a.pathLetters(r)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case r.sink != nil:
		in, err := a.sinkInput(r, letters)
		if err != nil {
			return nil, nil, fmt.Errorf("sink %s: %w", r.sink.Name, err)
		}
		b, ends = in, []terminal{in}
	case keyed(r.step):
		in := stageInput{a.stages[r.step.Name].stage.Input(r.input)}
		b, ends = in, []terminal{in}
		if r.step.Window != nil {
			computed = append(append([]plan.Column(nil), computed...), r.step.Window.Computed...)
		}
	case r.step.Plugin != nil:
		in := &foreignInput{to: a.foreigners[r.step.Name], input: r.input, letters: letters}
		b, ends = in, []terminal{in}
		computed = append(append([]plan.Column(nil), computed...), r.step.Plugin.Columns...)
	default:
		apply, err := a.stateless(r.step)
		if err != nil {
			return nil, nil, fmt.Errorf("transform %s: %w", r.step.Name, err)
		}
		next, err := a.port(r.main)
		if err != nil {
			return nil, nil, err
		}
		b, ends = &stepBranch{apply: apply, counts: a.counts.step(r.step.Name), next: next, letters: letters, seen: a.p.set.Seen}, next.ends
	}
	b = a.entering(r, b)
	if len(computed) > 0 {
		c := &columnsBranch{next: b, letters: letters}
		for _, col := range computed {
			k, err := newComputed(col)
			if err != nil {
				return nil, nil, err
			}
			c.computed = append(c.computed, k)
		}
		if r.step != nil {
			c.counts = a.counts.step(r.step.Name)
		} else {
			c.counts = &a.counts.sinks[r.sink.Name].Unwritten
		}
		b = c
	}
	if r.in.Watermark {
		b = watermarkBranch{b}
	}
	if r.step != nil && r.step.Plugin != nil {
		// Its refused rows come out behind the plugin, and so do the barriers for them.
		if t := a.foreigners[r.step.Name]; !slices.Contains(t.letters, letters) {
			t.letters = append(t.letters, letters)
		}
		return b, ends, nil
	}
	return b, append(append([]terminal(nil), ends...), letters.readers.ends...), nil
}

// pathLetters gives the workers of one path the same writer: they prepare side by side, but their letters are written in order.
func (a *attempt) pathLetters(r *path) (*letterWriter, error) {
	if w := a.pathWriters[r]; w != nil {
		return w, nil
	}
	component := ""
	if r.sink != nil {
		component = r.sink.Name
	} else {
		component = r.step.Component()
	}
	w, err := a.letterWriter(component, plan.Errors, r.errors)
	if err != nil {
		return nil, err
	}
	if a.pathWriters == nil {
		a.pathWriters = map[*path]*letterWriter{}
	}
	a.pathWriters[r] = w
	return w, nil
}

func (a *attempt) stateless(s *plan.Step) (func(*batch.Batch, func(*batch.Batch, int)) (*batch.Batch, transform.Counts), error) {
	compile := func(c plan.Column, want transform.Type) (*transform.Program, error) {
		p, mistakes := transform.Compile(c.Expr, transform.Schema{}, want)
		if len(mistakes) > 0 {
			return nil, fmt.Errorf("%s: %w", c.At, mistakes)
		}
		return p, nil
	}
	switch {
	case s.Filter != nil:
		p, err := compile(*s.Filter, transform.TypeBool)
		if err != nil {
			return nil, err
		}
		return inPlace(transform.NewFilter(p).Apply), nil
	case s.Map != nil:
		m := transform.MapSettings{Drop: s.Map.Drop, Keep: s.Map.Keep}
		for _, c := range s.Map.Set {
			p, err := compile(c, transform.TypeAny)
			if err != nil {
				return nil, err
			}
			m.Set = append(m.Set, transform.Assignment{Field: c.Name, Program: p})
		}
		for _, r := range s.Map.Rename {
			m.Rename = append(m.Rename, transform.Rename(r))
		}
		return inPlace(transform.NewMap(m).Apply), nil
	case s.Unnest != nil:
		p, err := compile(plan.Column{Expr: s.Unnest.Field}, transform.TypeAny)
		if err != nil {
			return nil, err
		}
		return transform.NewUnnest(p, s.Unnest.As, s.Unnest.Index).Apply, nil
	}
	return nil, fmt.Errorf("a step of type %q cannot run here", s.Type)
}

// sinkInput builds an input of a sink for one worker.
func (a *attempt) sinkInput(r *path, letters *letterWriter) (*sinkInput, error) {
	unwritten := &a.counts.sinks[r.sink.Name].Unwritten.Rejected
	in := &sinkInput{sink: a.sinks[r.sink.Name], input: r.input, refused: func(b *batch.Batch) error {
		unwritten.Add(int64(len(b.Bad)))
		return letters.refused(b)
	}}
	if !r.sink.Text {
		in.columns = r.sink.Format.Fields
		return in, nil
	}
	var err error
	if r.in.Whole && r.sink.Format.Format != format.Raw {
		w := format.Whole{Column: decode.WholeColumn, Drop: r.in.Shape.Dropped}
		for _, f := range r.in.Shape.Fields {
			w.Set = append(w.Set, f.Name)
		}
		in.text, err = format.NewWhole(r.sink.Format, w)
	} else {
		in.text, err = format.New(r.sink.Format)
	}
	return in, err
}

// makeStage makes a keyed step's shards and restores their state.
func (a *attempt) makeStage(s *plan.Step) error {
	n := &stageNode{step: s, operator: plan.OperatorID(s.Name), output: &stageOutput{}}
	cfg := shard.Config{
		Name: s.Name, Inputs: a.graph.inputs[s.Name], Shards: a.shards, Clock: a.p.set.Clock, Manual: a.p.set.Drive != nil, Watermark: batch.NoWatermark,
		Downstream: n.output,
		Held:       a.memory.change,
		Snapshot:   func(barrier uint64, i int, op window.Operator) error { return a.snapshot(n, barrier, i, op) },
		Aligned: func(barrier uint64, w int64) error {
			if isProbe(barrier) {
				return a.coord.contribute(a.ctx, barrier, nil)
			}
			snap := stageSnapshot{watermark: w}
			if n.valve != nil {
				snap.valve = n.valve.Snapshot(nil)
			}
			return a.coord.contribute(a.ctx, barrier, func(c *cut) { c.stages[s.Name] = snap })
		},
	}
	switch {
	case s.Window != nil:
		cfg.KeyFields, cfg.ProcessingTime = s.Window.Keys, usesClock(s.Window.Spec)
		if err := a.setFold(n); err != nil {
			return err
		}
		cfg.NewOperator = func(_ int, out *window.Output) (window.Operator, error) {
			layout, err := aggregate.New(s.Window.Aggregates)
			if err != nil {
				return nil, err
			}
			return window.New(s.Window.Spec, layout, s.Window.Env(), out)
		}
	default:
		cfg.KeyFields, cfg.PassThrough = s.Dedup.Keys, true
		cfg.NewOperator = func(_ int, out *window.Output) (window.Operator, error) {
			return &dedupOperator{dedup: transform.NewDedup(s.Dedup.Within), out: out}, nil
		}
	}
	if cfg.Inputs > 1 {
		n.valve = watermark.NewValve(cfg.Inputs, 1, 0)
		cfg.Valve = n.valve
	}
	a.stages[s.Name] = n
	return a.restoreStage(n, cfg)
}

// usesClock reports whether an operator wants to be told processing time.
func usesClock(s window.Spec) bool {
	return s.ProcessingTime || s.Trigger == window.OnProcessingTime || s.Trigger == window.ContinuousProcessingTime || s.EarlyProcessingEvery > 0
}

// wireStage builds what follows a stage; all stages and sinks are made.
func (a *attempt) wireStage(n *stageNode) (err error) {
	readers := a.graph.stages[n.step.Name]
	if n.main, err = a.port(readers.main); err != nil {
		return err
	}
	out := n.output
	out.main, out.pool, out.ctx = n.main, a.pool, a.ctx
	if a.p.set.Seen == nil && a.p.set.Drive == nil { // whoever looks on, or keeps time, wants one thing after the other
		for range a.workers {
			worker, err := a.port(readers.main)
			if err != nil {
				return err
			}
			out.workers = append(out.workers, worker)
		}
	}
	if n.writer, err = a.letterWriter(n.step.Name, plan.Late, readers.late); err != nil {
		return err
	}
	out.late, out.latePort = n.writer.late, n.writer.readers
	if seen := a.p.set.Seen; seen != nil && n.step.Window == nil {
		out.seen = func(b *batch.Batch) { seen(n.step.Name, Left, b) }
	}
	if show := a.p.set.Late; show != nil {
		out.late = func(b *batch.Batch, rows []uint32, watermark int64) error {
			show(n.step.Name, b, rows, watermark)
			return n.writer.late(b, rows, watermark)
		}
	}
	for _, end := range out.latePort.ends {
		if _, ok := end.(stageInput); ok {
			out.lateStages = true
		}
	}
	return nil
}

// makeLane opens a source and its assigner, and builds the lane.
func (a *attempt) makeLane(ctx context.Context, number uint32, s *plan.Source, align *alignMember) (*lane, error) {
	a.p.opens("source " + s.Name)
	restored := a.restoredLane(s.Name)
	c := laneConfig{
		name: s.Name, number: number, clock: a.p.set.Clock, pool: a.pool, interval: s.Interval, places: a.places,
		maxAhead: watermark.MaxAhead{Limit: s.MaxAhead}, lateness: watermark.NewLateness(), restored: restored.partitions,
		over: a.over(s, restored), gate: a.admit, finished: a.laneFinished, notice: a.notice(s.Name), eventTime: s.Rule == plan.AssignerTime || s.Rule == plan.SourceTime,
		settings: watermark.PartitionsSettings{
			IdleAfter: s.IdleAfter.Milliseconds(), AnnounceOnRow: true, Granularity: s.Bucket.Size, Offset: s.Bucket.Offset, Began: a.now(),
		},
		manual: a.p.set.Drive != nil, trace: a.p.tapped(a.p.set.Trace), align: align,
		contribute: func(barrier uint64, snap laneSnapshot) error {
			return a.coord.contribute(a.ctx, barrier, func(c *cut) { c.lanes[s.Name] = snap })
		},
	}
	if s.OnAllIdle == "hold" {
		c.settings.OnAllIdle = watermark.Hold
	}
	if s.Confirm != nil {
		jumps := watermark.JumpSettings{
			Span: s.Confirm.Span.Milliseconds(), Records: s.Confirm.Records, Partitions: s.Confirm.Partitions, Patience: s.Confirm.Hold,
		}
		c.jumps = watermark.NewJumpGuard(jumps)
		if marked(s.Assigner) {
			c.markers = watermark.NewMarkGuard(jumps)
		} else {
			c.believed = watermark.NewMarkGuard(jumps)
		}
		c.guard = restored.guard
	}
	if s.Decode != nil {
		c.headers = decode.NewHeaders(*s.Decode)
	}
	for range a.workers {
		columns, err := newColumnizer(s)
		if err != nil {
			return nil, err
		}
		c.columns = append(c.columns, columns)
		out, err := a.port(a.graph.sources[s.Name].main)
		if err != nil {
			return nil, err
		}
		c.out = append(c.out, out)
	}
	letters, err := a.letterWriter(s.Name, plan.Errors, a.graph.sources[s.Name].errors)
	if err != nil {
		return nil, err
	}
	c.letters = letters
	place := wire.Place{Pipeline: a.plan.Name, Component: s.Name}
	switch s.Rule {
	case plan.AssignerTime:
		c.rule, c.periodic, c.keep = pluginTime, s.Assigner.Style == sdk.Periodic, s.Assigner.Keep
		c.assigner, err = a.p.set.Plugins.OpenAssigner(ctx, wire.AssignerOpen{
			Plugin: s.Assigner.Name, Options: s.Assigner.Options, Place: place,
			EveryRecord: s.Interval == 0, Bucket: s.Bucket.Size, Offset: s.Bucket.Offset,
		}, isolation(s.Assigner.Isolation))
		if err != nil {
			return nil, fmt.Errorf("assigner: %w", err)
		}
		a.onClose(c.assigner.Close)
		c.ward = a.ward(fmt.Sprintf("assigner %s of source %s", s.Assigner.Name, s.Name), true)
	case plan.SourceTime:
		c.rule = sourceTime
	case plan.IngestionTime:
		c.rule = ingestionTime
	default:
		c.rule = processingTime
	}
	open := wire.SourceOpen{
		Plugin: s.Plugin.Name, Options: s.Plugin.Options, Place: place,
		Framing:   framing(s),
		BatchRows: a.plan.BatchRows, BatchBytes: int(min(a.plan.BatchBytes, math.MaxInt32)), Linger: a.plan.Linger,
	}
	for name, r := range restored.partitions {
		if s.Journaled {
			break // its positions are the journal's
		}
		open.Restored = append(open.Restored, wire.RestoredPartition{Name: name, Position: r.position, Ended: r.ended})
	}
	if a.p.set.Replay != nil {
		c.source, c.before = newReplay(a.p.set.Replay[s.Name]), &restored
		return newLane(c), nil
	}
	c.source, err = a.p.set.Plugins.OpenSource(ctx, open, isolation(s.Plugin.Isolation))
	if err != nil {
		return nil, err
	}
	a.onClose(c.source.Close)
	if s.Journaled {
		if c.journal, err = a.openJournal(s, c.source, restored.partitions); err != nil {
			return nil, err
		}
		c.source = c.journal
		a.onClose(c.journal.Close)
	}
	l := newLane(c)
	l.keepTogether(s.HoldsPartitions)
	l.gathers(s.TakesRefusals)
	return l, nil
}

// framing is what a source has to know to cut its bytes where the decoder expects it.
func framing(s *plan.Source) wire.Framing {
	f := wire.Framing{Format: s.Framing, MaxRecord: s.MaxRecord}
	if s.Decode != nil {
		f.Records = string(s.Decode.Format)
	}
	if s.Framing == "csv" && s.Decode != nil && s.Decode.Format == decode.FormatCSV {
		f.Delimiter = s.Decode.Delimiter
		if f.Delimiter == "" {
			f.Delimiter = ","
		}
		if s.Decode.Quote != "none" {
			f.Quote = s.Decode.Quote
		}
	}
	return f
}
