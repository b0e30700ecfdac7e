package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/failpoint"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/daemon/shard"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/deadletter"
	"github.com/tidemark-stream/tidemark/state/journal"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// Folders of a pipeline's directory.
const (
	StateFolder   = "state"
	LettersFolder = "deadletters"
	JournalFolder = "journal" // one folder a source in it
)

// openState opens the store and the dead letters, and reads what the last commit says. A state that the plan cannot go on from is
// refused, unless the components in question may be reset.
func (a *attempt) openState(ctx context.Context) error {
	dir := a.p.set.StateDir
	store, err := state.Open(filepath.Join(dir, StateFolder), state.Options{FS: a.p.set.FS, CacheSize: a.plan.State.Cache, Lookups: looksUp(a.plan),
		Logger: structured(a.p.set.Log.Named("state")), Hook: failpoint.Hit,
	})
	if err != nil {
		return lasting(err)
	}
	a.store = store
	a.onClose(store.Close)
	a.onClose(a.visitors.leave) // before the store closes
	a.onClose(a.keepWards)
	failpoint.Hit(failpoint.RecoverOpened)
	a.log, a.restored, err = checkpoint.Open(checkpoint.Settings{Store: store, Clock: a.p.set.Clock, Full: a.diskFull})
	if err != nil {
		return lasting(err)
	}
	a.p.commits.resume(Commit{Number: a.restored.Number, At: time.UnixMilli(a.restored.Time)})
	changes := checkpoint.Compare(a.restored.Components, Components(a.plan))
	if a.restored.Number > 0 {
		if err := checkpoint.Refuse(dir, changes, a.p.set.AllowReset); err != nil {
			return Permanent(err)
		}
	}
	// What resets or is new is committed before anything else looks into the store.
	first := &state.Delta{}
	checkpoint.Apply(first, a.restored, changes)
	if slices.ContainsFunc(changes, checkpoint.Change.Writes) {
		if err := a.commitFirst(ctx, first); err != nil {
			return lasting(err)
		}
	}
	a.deadLetters, err = deadletter.Open(filepath.Join(dir, LettersFolder), deadletter.Options{FS: a.p.set.FS, MaxBytes: a.plan.DeadLetters.MaxSize, MaxAge: a.plan.DeadLetters.MaxAge})
	if err != nil {
		return lasting(err)
	}
	a.onClose(a.deadLetters.Close)
	for _, path := range a.deadLetters.SetAside() {
		a.p.set.Log.Warn("damaged dead letters were set aside", "file", path)
	}
	return nil
}

// commitFirst commits what a start changes. While the disk is full it waits, as later commits do.
func (a *attempt) commitFirst(ctx context.Context, d *state.Delta) error {
	for told := false; ; told = true {
		_, err := a.store.Commit(a.ctx, d)
		if !errors.Is(err, state.NoSpace) || a.store.Err() != nil {
			if told && err == nil {
				a.diskFull(nil)
			}
			return err
		}
		if !told {
			a.diskFull(err)
		}
		timer := a.p.set.Clock.NewTimer(time.Second)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// lasting marks errors of the store that another attempt will not mend.
func lasting(err error) error {
	for _, kind := range []state.Kind{
		state.InUse, state.Damaged, state.Incompatible, state.Unwritable, state.TooNew, state.Foreign, state.Missing, state.BadJournal,
	} {
		if errors.Is(err, kind) {
			return Permanent(err)
		}
	}
	return err
}

func (a *attempt) diskFull(err error) {
	if err != nil {
		a.p.set.Log.Error("the disk is full: no input is taken until there is room", "error", err)
	} else {
		a.p.set.Log.Info("there is room on the disk again")
	}
}

// Components says what each component's state depends on.
func Components(p *plan.Plan) map[string]checkpoint.Component {
	kinds := map[string]checkpoint.ComponentKind{
		"source": checkpoint.SourceComponent, "window": checkpoint.StageComponent, "dedup": checkpoint.StageComponent, "sink": checkpoint.SinkComponent,
	}
	out := map[string]checkpoint.Component{}
	for _, part := range p.Footprint().Components {
		if part.Kind == "transform" {
			out[part.Name] = checkpoint.Transform(part.Rigid["plugin"])
			continue
		}
		kind, ok := kinds[part.Kind]
		if !ok {
			continue // an assigner goes with its source
		}
		shape, err := json.Marshal(part.Rigid) // a map: its keys come sorted
		if err != nil {
			panic(err)
		}
		c := checkpoint.Component{Kind: kind, Shape: part.Kind + " " + string(shape), Words: words(part)}
		if kind == checkpoint.StageComponent {
			c.Operator = plan.OperatorID(part.Name)
		}
		out[part.Name] = c
	}
	return out
}

func words(p plan.Part) string {
	text := p.Kind
	for _, k := range []string{"plugin", "window", "key_by", "aggregate", "trigger", "mode", "kept_as"} {
		if v := p.Rigid[k]; v != "" {
			text += ", " + strings.ReplaceAll(k, "_", " ") + " " + v
		}
	}
	return text
}

// beginsAnew is told where a plugin has taken another one's place.
const beginsAnew = "another plugin does this now: it begins without the state that was kept"

// restoreStage makes a stage's shards and gives them their state back.
func (a *attempt) restoreStage(n *stageNode, cfg shard.Config) (err error) {
	if s, ok := a.restored.Snapshot.Stages[n.step.Name]; ok {
		cfg.Watermark = s.Watermark
		if err := a.graph.restoreInputs(n.step.Name, n.valve, s.Valve); err != nil {
			return err
		}
	}
	if n.stage, err = shard.New(cfg); err != nil {
		return err
	}
	for i := range cfg.Shards {
		first, last, ok := rowkey.Range(i, cfg.Shards)
		if !ok {
			n.deltas, n.stores = append(n.deltas, &state.Delta{}), append(n.stores, nil)
			continue
		}
		hashes := keys.Hashes{First: first, Last: last}
		n.deltas = append(n.deltas, state.NewDelta(hashes))
		op := n.stage.Operator(i)
		store, reads, err := a.attach(n, op, hashes)
		if err != nil {
			return fmt.Errorf("restore the state: %w", err)
		}
		n.stores = append(n.stores, store)
		if reads {
			continue
		}
		if err := a.store.ScanOperator(n.operator, hashes, op.Restore); err != nil {
			return fmt.Errorf("restore the state: %w", err)
		}
	}
	return nil
}

// snapshot takes the changes of one shard; it runs on the shard's goroutine. The delta is the shard's own again, because a barrier comes
// only after the commit of the one before.
func (a *attempt) snapshot(n *stageNode, barrier uint64, i int, op window.Operator) error {
	n.skipped.note(i, op)
	if isProbe(barrier) {
		return a.coord.contribute(a.ctx, barrier, nil)
	}
	d := n.deltas[i]
	d.Reset()
	if store := n.stores[i]; store != nil {
		store.barrier = barrier
		if a.memory.over() {
			op.(window.Spiller).Shrink()
		}
	}
	op.Snapshot(d.Bind(n.operator))
	return a.coord.contribute(a.ctx, barrier, func(c *cut) { c.deltas = append(c.deltas, d) })
}

// restoredLane is what the last commit says about a source.
func (a *attempt) restoredLane(name string) laneSnapshot {
	s, ok := a.restored.Snapshot.Sources[name]
	out := laneSnapshot{partitions: map[string]partitionState{}, watermark: batch.NoWatermark, guard: s.Guard}
	if !ok {
		return out
	}
	out.watermark = s.Watermark
	plugin, before := a.plan.Source(name).AssignerName(), ""
	for name, p := range s.Partitions {
		assigner, another := checkpoint.StateOf(plugin, p.Assigner)
		before = max(before, another)
		out.partitions[name] = partitionState{position: p.Position, header: p.Header, assigner: assigner, watermark: p.Watermark, ended: p.Ended, idle: p.Idle, marks: p.Marks}
	}
	if before != "" && plugin != "" {
		a.p.set.Log.Warn(beginsAnew, "component", name, "plugin", plugin, "before", before)
	}
	return out
}

// over says that a source goes on, or begins, behind the end of all input: an earlier run has ended or was drained, which closed every window.
func (a *attempt) over(s *plan.Source, restored laneSnapshot) bool {
	_, known := a.restored.Snapshot.Sources[s.Name]
	if s.Rule == plan.ProcessingTime || known && restored.watermark != batch.EndOfInput {
		return false
	}
	for _, step := range a.plan.Steps {
		if step.Window != nil && step.Window.Spec.Type != window.Global && a.restored.Snapshot.Stages[step.Name].Watermark == batch.EndOfInput {
			return true
		}
	}
	return false
}

// tellPastEnd says, once, what becomes of records that come all the same.
func (l *lane) tellPastEnd(records int) {
	l.counts.PastEnd.Add(int64(records))
	if records > 0 {
		l.notice(decode.Notice{Code: "past_end", Message: "the input had ended in an earlier run, or was drained, and that closed all windows: what comes now is late. " + hintPastEnd})
	}
}

const hintPastEnd = "To count it, begin with another state; to go on another time, stop a pipeline instead of letting it end, which is what follow = true is for with files"

// commit makes a cut true, and then lets everybody know who waits for that.
func (a *attempt) commit(ctx context.Context, c *cut) error {
	out := &checkpoint.Cut{
		Snapshot: checkpoint.Snapshot{Sources: map[string]checkpoint.Source{}, Stages: map[string]checkpoint.Stage{}},
		Deltas:   c.deltas,
	}
	for name, l := range c.lanes {
		s := checkpoint.Source{Watermark: l.watermark, Guard: l.guard, Partitions: map[string]checkpoint.Partition{}}
		plugin := a.plan.Source(name).AssignerName()
		for name, p := range l.partitions {
			s.Partitions[name] = checkpoint.Partition{
				Position: p.position, Header: p.header, Assigner: checkpoint.Owned(plugin, p.assigner), Watermark: p.watermark, Ended: p.ended, Idle: p.idle, Marks: p.marks,
			}
		}
		out.Snapshot.Sources[name] = s
	}
	for name, s := range c.stages {
		out.Snapshot.Stages[name] = checkpoint.Stage{Watermark: s.watermark, Valve: a.graph.storeInputs(name, s.valve)}
	}
	for _, p := range c.parts {
		out.Parts = append(out.Parts, p)
	}
	for _, f := range c.foreign {
		out.Parts = append(out.Parts, f)
	}
	if c.letters != nil {
		out.Parts = append(out.Parts, c.letters)
	}
	for _, w := range a.wards {
		out.Parts = append(out.Parts, wardPart{w, c.barrier})
	}
	for _, l := range a.lanes {
		if l.journal != nil {
			if err := l.journal.journal.Sync(); err != nil {
				return fmt.Errorf("source %s: %w", l.name, err)
			}
		}
	}
	a.memory.taken()
	failpoint.Hit(failpoint.CommitCut)
	stats, err := a.log.Commit(ctx, out)
	if err != nil {
		return err
	}
	a.settled.reach(c.barrier)
	a.coord.least = a.pace(stats)
	a.p.commits.add(Commit{stats.Number, a.p.set.Clock.Now()}, int64(stats.Bytes), c.taken, stats.Took)
	for _, p := range c.parts {
		p.Committed()
	}
	if c.letters != nil {
		c.letters.Committed()
	}
	for _, w := range a.wards {
		w.committed(c.barrier)
	}
	failpoint.Hit(failpoint.CommitTold)
	for _, l := range a.lanes { // I3: only now
		a.places.forget(l.number, c.lanes[l.name].ended)
		if err := l.tellRefused(c.lanes[l.name].refusals); err != nil && a.ctx.Err() == nil {
			return fmt.Errorf("source %s: %w", l.name, err)
		}
		if l.journal != nil {
			if err := l.journal.committed(c.lanes[l.name].journalAt); err != nil {
				return fmt.Errorf("source %s: %w", l.name, err)
			}
			continue
		}
		for _, k := range c.lanes[l.name].acks {
			if err := l.source.Ack(k.partition, k.position); err != nil && a.ctx.Err() == nil {
				return fmt.Errorf("source %s: acknowledge: %w", l.name, err)
			}
		}
	}
	return nil
}

// openJournal opens a source's journal and puts it in front of the source.
func (a *attempt) openJournal(s *plan.Source, inner wire.Source, restored map[string]partitionState) (*journaled, error) {
	committed := uint64(0)
	if p, ok := restored[journalPartition]; ok {
		var err error
		if committed, _, err = parseJournalPosition(p.position); err != nil {
			return nil, Permanent(err)
		}
	}
	sync := journal.Sync(s.Journal.Sync)
	if a.p.set.Ephemeral {
		sync = journal.SyncNever // the directory goes with the process
	}
	j, err := journal.Open(filepath.Join(a.p.set.StateDir, JournalFolder, s.Name), journal.Options{
		Sync: sync, SegmentSize: s.Journal.Segment, Committed: committed + 1,
	})
	if err != nil {
		return nil, lasting(err)
	}
	a.onClose(j.Close)
	out, err := newJournaled(inner, j, s.Journal.MaxSize, committed, restored)
	if err != nil {
		return nil, err
	}
	out.always = sync == journal.SyncAlways
	return out, nil
}
