package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/deliver"
	"github.com/tidemark-stream/tidemark/daemon/failpoint"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state/deadletter"
)

// outlet is a sink with its outbox.
type outlet struct {
	name   string
	outbox *deliver.Outbox
	before uint64 // rows that the sink had taken before this attempt

	waiting uint64 // rows that were waiting for it then
}

// openSinks opens the sinks and their outboxes, and that of the dead letters.
func (a *attempt) openSinks(ctx context.Context) error {
	log := structured(a.p.set.Log)
	a.budget = deliver.NewBudget(a.plan.State.Outbox)
	var err error
	a.letters, err = deliver.OpenLetters(a.ctx, deliver.LettersSettings{Store: a.store, Letters: a.deadLetters, Clock: a.p.set.Clock, Log: log})
	if err != nil {
		return err
	}
	for _, s := range a.plan.Sinks {
		if err := a.openSink(ctx, s); err != nil {
			return fmt.Errorf("sink %s: %w", s.Name, lasting(err))
		}
	}
	if a.restored.Skip {
		return a.log.SinksAsked(a.ctx)
	}
	return nil
}

func (a *attempt) openSink(ctx context.Context, s *plan.Sink) error {
	a.p.opens("sink " + s.Name)
	var sinks []wire.Sink // calls of a sink come one at a time, so each delivery at the same time has one of its own
	for range max(1, s.MaxInFlight) {
		sink, err := a.p.set.Plugins.OpenSink(ctx, wire.SinkOpen{
			Plugin: s.Plugin.Name, Options: s.Plugin.Options, Place: wire.Place{Pipeline: a.plan.Name, Component: s.Name, Store: a.log.StoreID(s.Capability == sdk.Transactional)},
		}, isolation(s.Plugin.Isolation))
		if err != nil {
			return err
		}
		a.onClose(sink.Close)
		sinks = append(sinks, sink)
	}
	brought, passed := a.coord.outbox()
	box, err := deliver.Open(a.ctx, deliver.Settings{
		Name: s.Name, Sink: sinks[0], More: sinks[1:], ExactlyOnce: s.ExactlyOnce, Store: a.store, Clock: a.p.set.Clock, Log: structured(a.p.set.Log), Budget: a.budget,
		Refused:   a.refusedBySink(s),
		Wanted:    brought,
		Full:      a.log.Full,
		Hook:      failpoint.Hit,
		Skip:      a.restored.Skip,
		BatchRows: s.Batch.Rows, BatchBytes: s.Batch.Bytes, Linger: s.Batch.Linger,
		Retry: deliver.Retry{Backoff: s.Retry.Backoff, MaxBackoff: s.Retry.MaxBackoff, Attempts: s.Retry.MaxAttempts, Timeout: s.Retry.Timeout},
	})
	if err != nil {
		return err
	}
	status := box.Status()
	a.outlets = append(a.outlets, outlet{s.Name, box, status.Taken, status.Waiting})
	a.sinks[s.Name] = newSinkNode(a.ctx, s.Name, a.graph.inputs[s.Name], box.Append, func(barrier uint64) error {
		if isProbe(barrier) {
			return a.coord.contribute(a.ctx, barrier, func(*cut) {})
		}
		part := box.Cut()
		passed()
		return a.coord.contribute(a.ctx, barrier, func(c *cut) { c.parts = append(c.parts, part) })
	})
	a.sinks[s.Name].tap = a.p.tapped(a.p.set.Tap)
	return nil
}

// forGood makes an error for good of one that giving the rows again will not mend, where somebody waits who can: a reader of standard
// output that has gone does not come back. A daemon tries again, as [restart] says.
func (a *attempt) forGood(err error) error {
	var verdict *wire.SinkError
	if a.p.set.Foreground && errors.As(err, &verdict) && verdict.Permanent {
		return Permanent(err)
	}
	return err
}

// refusedBySink makes letters of rows that a sink will never take.
func (a *attempt) refusedBySink(s *plan.Sink) func(ctx context.Context, b *batch.Batch, first uint64, rows []batch.BadRow) error {
	return func(ctx context.Context, b *batch.Batch, first uint64, rows []batch.BadRow) error {
		for _, r := range rows {
			row := int(r.Row)
			if b.Sel != nil {
				row = int(b.Sel[row])
			}
			l := deadletter.Letter{Code: r.Code, Message: r.Message, Component: s.Name, Port: string(plan.Errors), Position: -1,
				EventTime: batch.NoTimestamp, Watermark: batch.NoWatermark, ProcessingTime: a.now(), Raw: b.Row(row)}
			if l.Code == "" {
				l.Code = "refused"
			}
			if l.Raw == nil {
				l.Raw = columnsAsJSON(b, row)
			}
			l.RawLength = int64(len(l.Raw))
			if err := a.letters.Refuse(ctx, s.Name, first+uint64(r.Row), s.ExactlyOnce, l); err != nil {
				return fmt.Errorf("keep a row that sink %s refuses: %w", s.Name, err)
			}
			a.counts.deadLetters.Add(1)
			a.counts.sinks[s.Name].Refused.Add(1)
		}
		return nil
	}
}

// cutLetters is called when every port that nobody reads has brought a barrier.
func (a *attempt) cutLetters(barrier uint64) error {
	if isProbe(barrier) {
		return a.coord.contribute(a.ctx, barrier, func(*cut) {})
	}
	part := a.letters.Cut()
	return a.coord.contribute(a.ctx, barrier, func(c *cut) { c.letters = part })
}

// gate waits until there is room for more input. A stop does not wait: little comes any more, and the sources' last word has to be heard.
func (a *attempt) gate(ctx context.Context) error {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.stopAsked, cancel)()
	err := a.budget.Wait(wait)
	if err == nil {
		err = a.memory.wait(wait)
	}
	if err == nil {
		err = a.log.Gate(wait)
	}
	if a.stopAsked.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// settle ends the deliveries, after the last commit of the sources' records. When ctx has ended, so in a stop, it does not wait for sinks
// that fail: their rows go out in the next run. inner is the life of the attempt.
func (a *attempt) settle(ctx, inner context.Context) error {
	var hurry <-chan struct{}
	if !a.p.set.Ephemeral { // otherwise there is no next run
		hurry = ctx.Done()
	}
	for _, o := range a.outlets {
		left, err := o.outbox.Settle(inner, hurry)
		if err != nil {
			return err
		}
		if left > 0 {
			a.p.set.Log.Warn("the sink fails, and the stop does not wait for it; its rows go out in the next run", "sink", o.name, "rows", left)
		}
	}
	// One more commit holds what has happened since the last one: letters of rows that sinks have refused, and what they have taken,
	// which a sink without books would be given again by the next run.
	if a.letters.Status().Waiting > 0 || !a.p.set.Ephemeral && a.unrecorded() {
		if err := a.coord.once(inner, false); err != nil {
			return quiet(inner, err)
		}
	}
	return a.letters.Drain(inner)
}

// unrecorded reports whether a sink has taken rows that the last commit calls waiting.
func (a *attempt) unrecorded() bool {
	return slices.ContainsFunc(a.outlets, func(o outlet) bool { return o.outbox.Unrecorded() })
}

// drain waits until the sinks have taken everything.
func (a *attempt) drain(ctx context.Context) error {
	for _, o := range a.outlets {
		if err := o.outbox.Drain(ctx); err != nil {
			return err
		}
	}
	return a.letters.Drain(ctx)
}

// notice tells what decoding has to say, each thing once for each source.
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
