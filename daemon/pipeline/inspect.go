package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state"
)

// ErrNotOpen says that no attempt has the pipeline's state open. Between two attempts that changes by itself; when the pipeline has ended, its
// directory can be opened by whoever wants to look into it.
var ErrNotOpen = errors.New("the pipeline does not have its state open now")

// visitors are those who look into the store of an attempt from outside. The store is closed when the last of them has gone; their contexts end
// with the attempt, so that they go at once.
type visitors struct {
	mu     sync.RWMutex
	closed bool // under mu
}

// leave waits for the visitors; no more come in.
func (v *visitors) leave() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	return nil
}

// visit calls f while an attempt has its store open. ctx ends with the attempt.
func (p *Pipeline) visit(ctx context.Context, f func(ctx context.Context, a *attempt) error) error {
	p.mu.Lock()
	a := p.current
	p.mu.Unlock()
	if a == nil {
		return ErrNotOpen
	}
	// Nobody waits for leave here: a visitor that is at work holds its lock for reading, and would hold up the others behind leave.
	if !a.visitors.mu.TryRLock() {
		return ErrNotOpen
	}
	defer a.visitors.mu.RUnlock()
	if a.visitors.closed {
		return ErrNotOpen
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.ctx, func() { cancel(ErrNotOpen) })()
	return f(ctx, a)
}

// Name is the pipeline's name.
func (p *Pipeline) Name() string { return p.plan.Name }

// Inspect shows the state as the last commit left it, all from one commit. It holds up neither records nor commits. f looks at ctx once in a
// while: it ends with the attempt. [ErrNotOpen] says that there is none.
func (p *Pipeline) Inspect(ctx context.Context, f func(ctx context.Context, v *state.View, st *checkpoint.State) error) error {
	return p.visit(ctx, func(ctx context.Context, a *attempt) error {
		v, err := a.store.View()
		if err != nil {
			return err
		}
		st, err := checkpoint.Read(v)
		if err == nil {
			err = f(ctx, v, st)
		}
		return errors.Join(err, v.Close())
	})
}

// Savepoint makes a savepoint of the state in the directory to, which must not exist. It has a commit made, and takes the database, journals and
// dead letters before the next one, so that they belong together; records are processed meanwhile. [ErrNotOpen] says that no attempt runs.
func (p *Pipeline) Savepoint(ctx context.Context, to, note string) (*state.Manifest, error) {
	var m *state.Manifest
	err := p.visit(ctx, func(ctx context.Context, a *attempt) error {
		with, err := SavedFolders(p.set.StateDir)
		if err != nil {
			return err
		}
		var saving *state.Saving
		var number uint64
		err = a.coord.orderThen(ctx, a.ctx, func() (err error) {
			number = p.commits.last().Number
			saving, err = a.store.BeginSave(to, with)
			return err
		})
		if err != nil {
			if a.ctx.Err() != nil {
				return ErrNotOpen
			}
			return err
		}
		m, err = saving.Finish(state.Manifest{
			Created: p.set.Clock.Now().UnixMilli(), Pipeline: p.plan.Name, Note: note, About: map[string]any{"checkpoint": number},
		})
		return err
	})
	return m, err
}

// SavedFolders are the folders of a pipeline's directory that a savepoint holds beside the state, by name; those that are there.
func SavedFolders(dir string) (map[string]string, error) {
	with := map[string]string{}
	for _, folder := range []string{LettersFolder, JournalFolder} {
		path := filepath.Join(dir, folder)
		if _, err := os.Stat(path); err == nil {
			with[folder] = path
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return with, nil
}

// NotReady says why the pipeline is not ready: in a sentence each, with the name of what is missing. It is ready when its state is open, its
// plugins run and no sink fails. A sink that had nothing to take yet counts as good, and so does a pipeline whose sources have ended.
func (p *Pipeline) NotReady() []string {
	p.mu.Lock()
	a, s, since, doing, failure := p.current, p.state, p.since, p.doing, p.failure
	p.mu.Unlock()
	switch s {
	case Starting:
		if doing == "" {
			return []string{"it has not begun to start"}
		}
		return []string{fmt.Sprintf("it opens %s, since %s", doing, since.UTC().Format(time.RFC3339))}
	case Waiting:
		return []string{fmt.Sprintf("it failed, and waits for its next attempt: %v", failure)}
	case Failed:
		return []string{fmt.Sprintf("it failed for good: %v", failure)}
	case Stopping:
		return []string{"it stops"}
	case Draining:
		return []string{"it drains"}
	case Stopped:
		return []string{"it is stopped"}
	}
	if a == nil {
		return nil
	}
	var why []string
	for _, o := range a.outlets {
		if st := o.outbox.Status(); st.Failures > 0 {
			why = append(why, fmt.Sprintf("sink %s takes nothing since %s: %v", o.name, st.FailingSince.UTC().Format(time.RFC3339), st.Error))
		}
	}
	return why
}

// opens notes what the attempt waits for while it starts.
func (p *Pipeline) opens(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = what
}

// Records is the number of records that have come in. It costs less than a Summary.
func (p *Pipeline) Records() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.total.In
	if p.current != nil {
		for _, l := range p.current.lanes {
			n += l.counts.In.Load()
		}
	}
	return n
}

// CommitTimes are the durations of the commits so far, as a histogram: of each bound (seconds, ascending), how many took no longer.
type CommitTimes struct {
	Count  int64
	Sum    time.Duration
	Bounds []float64
	Within []uint64
}

// CommitTimes reads the histogram.
func (p *Pipeline) CommitTimes() CommitTimes { return p.commits.times() }

// Watermark is how far the pipeline's time has come: the lowest of its sources that are neither idle nor ended; of none, the highest there is.
// batch.NoWatermark says that there is none yet.
func (s *Status) Watermark() Moment {
	low, high, active := Moment(batch.EndOfInput), Moment(batch.NoWatermark), false
	for _, src := range s.Sources {
		high = max(high, src.Watermark)
		if src.State != "idle" && src.State != "ended" {
			low, active = min(low, src.Watermark), true
		}
	}
	if !active {
		return high
	}
	return low
}
