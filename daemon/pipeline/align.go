package pipeline

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// alignment keeps the sources of one drift group from running ahead of each other (max_drift): a source whose combined watermark is above
// the group's ceiling takes in no further batch until the slowest has caught up. A source's own partitions come in one stream, in which the
// slow ones stand behind the fast ones; those are kept together by the source, where it can leave single ones alone (see lane_apart.go).
//
// Waiting is at the intake, so barriers pass, and time in which a source waits is not silence (see lane.hold). A stop never waits.
type alignment struct {
	drift   int64 // ms
	mu      sync.Mutex
	group   *watermark.Alignment
	changed chan struct{} // closed, and replaced, when the ceiling may have risen
	off     bool          // the pipeline stops
}

// alignMember is one source's share.
type alignMember struct {
	*alignment
	id      uint32
	waiting atomic.Bool
}

// newAlignments makes the groups of a plan and returns each source's share, nil where it has no max_drift. A group's limit is the
// tightest of its sources'.
func newAlignments(p *plan.Plan) []*alignMember {
	drift := map[string]int64{}
	for _, s := range p.Sources {
		if d := s.MaxDrift.Milliseconds(); d > 0 && (drift[s.DriftGroup] == 0 || d < drift[s.DriftGroup]) {
			drift[s.DriftGroup] = d
		}
	}
	groups := map[string]*alignment{}
	out := make([]*alignMember, len(p.Sources))
	for i, s := range p.Sources {
		if s.MaxDrift <= 0 {
			continue
		}
		g := groups[s.DriftGroup]
		if g == nil {
			g = &alignment{drift: drift[s.DriftGroup], group: watermark.NewAlignment(drift[s.DriftGroup]), changed: make(chan struct{})}
			groups[s.DriftGroup] = g
		}
		out[i] = &alignMember{alignment: g, id: uint32(i)}
	}
	return out
}

// report tells where the source stands. One that has ended leaves the group.
func (a *alignMember) report(w int64, idle bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.group.Ceiling()
	switch {
	case w == batch.EndOfInput:
		a.group.Remove(a.id)
	case w == batch.NoWatermark && !idle:
		return // it has nothing to say yet
	case idle:
		a.group.ReportIdle(a.id)
	default:
		a.group.Report(a.id, w)
	}
	if a.group.Ceiling() != before {
		a.wake()
	}
}

// limits are what partitions of the group's sources are held to, and what is closed when the ceiling may have risen. off: to nothing.
func (a *alignment) limits() (ceiling int64, changed <-chan struct{}, off bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.group.Ceiling(), a.changed, a.off
}

// stop lets everybody go on: what is still on the way is taken in.
func (a *alignment) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.off = true
	a.wake()
}

func (a *alignment) wake() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// wait blocks while the source is too far ahead; gated says so meanwhile.
func (a *alignMember) wait(ctx context.Context, gated *atomic.Bool) error {
	for {
		a.mu.Lock()
		ahead, changed := !a.off && a.group.MustWait(a.id), a.changed
		a.mu.Unlock()
		a.waiting.Store(ahead)
		gated.Store(ahead)
		if !ahead {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ahead reports whether the source would have to wait.
func (a *alignMember) ahead() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.off && a.group.MustWait(a.id)
}
