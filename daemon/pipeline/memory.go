package pipeline

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// memory bounds what the windows of an attempt take, over all stages and shards (I6). Only a checkpoint can free any of it, by leaving windows to the
// store. So one is asked for as soon as there is too much; and when there is half as much again, no input is taken until the shards
// have been asked for their part of it.
type memory struct {
	limit int64
	parts int64 // operators that share it
	want  func()

	used atomic.Int64
	hold atomic.Bool // input is held

	mu   sync.Mutex
	free chan struct{} // closed, and replaced, when input may come again
}

func newMemory(limit int64, want func()) *memory {
	return &memory{limit: limit, want: want, free: make(chan struct{})}
}

// change is told by a shard what it takes more, or less.
func (m *memory) change(by int64) {
	used := m.used.Add(by)
	if by <= 0 || used <= m.limit {
		return
	}
	if used > m.limit+m.limit/2 {
		m.hold.Store(true)
	}
	m.want()
}

// over says that there is too much.
func (m *memory) over() bool { return m.used.Load() > m.limit }

// share is what one operator should take at most when there is too much.
func (m *memory) share() int64 { return m.limit / max(m.parts, 1) }

// taken is called when all shards have given their part of a checkpoint.
func (m *memory) taken() {
	if !m.hold.Swap(false) {
		return
	}
	m.mu.Lock()
	close(m.free)
	m.free = make(chan struct{})
	m.mu.Unlock()
}

// wait returns at once unless input is held.
func (m *memory) wait(ctx context.Context) error {
	for m.hold.Load() {
		m.mu.Lock()
		free := m.free
		m.mu.Unlock()
		if !m.hold.Load() { // it may have been freed before we looked
			return nil
		}
		select {
		case <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// settled tells how far commits have come.
type settled struct {
	mu      sync.Mutex
	barrier uint64
	changed chan struct{}
}

func newSettled() *settled { return &settled{changed: make(chan struct{})} }

func (s *settled) reach(barrier uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.barrier = barrier
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait returns when the commit of a barrier has been made.
func (s *settled) wait(ctx context.Context, barrier uint64) error {
	for {
		s.mu.Lock()
		reached, changed := s.barrier >= barrier, s.changed
		s.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// shardStore is the store as the operator of one shard sees it.
type shardStore struct {
	a        *attempt
	operator uint32
	hashes   keys.Hashes
	barrier  uint64 // of its last snapshot
}

var _ window.Store = (*shardStore)(nil)

func (s *shardStore) Hashes() (first, last uint64) { return s.hashes.First, s.hashes.Last }

func (s *shardStore) Times(visit func(int64)) error {
	return s.a.store.Times(s.operator, s.hashes, func(time int64) error {
		visit(time)
		return nil
	})
}

func (s *shardStore) Next(from int64) (int64, bool, error) {
	return s.a.store.NextTime(s.operator, from, s.hashes)
}

func (s *shardStore) Scan(time int64, first, last uint64, visit func(uint64, []byte, []byte) bool) error {
	return s.a.store.Scan(s.operator, time, keys.Hashes{First: first, Last: last}, func(_ int64, hash uint64, key, value []byte) error {
		if !visit(hash, key, value) {
			return state.ErrStop
		}
		return nil
	})
}

func (s *shardStore) Get(time int64, hash uint64, key []byte) ([]byte, bool, error) {
	return s.a.store.Get(s.operator, time, hash, key)
}

// Settle waits for the commit of the shard's last snapshot. That commit needs nothing more of this shard, nor of what comes behind it: every barrier
// is on its way past all that precedes it, and nobody who has yet to bring it waits for a shard that has.
func (s *shardStore) Settle() error { return s.a.settled.wait(s.a.ctx, s.barrier) }

// attach gives an operator that can leave windows in the store access to it. It is not ok for one that cannot.
func (a *attempt) attach(n *stageNode, op window.Operator, hashes keys.Hashes) (store *shardStore, ok bool, err error) {
	spiller, ok := op.(window.Spiller)
	if !ok {
		return nil, false, nil
	}
	store = &shardStore{a: a, operator: n.operator, hashes: hashes}
	return store, true, spiller.Attach(store, a.memory.share())
}

// setFold tells the store how entries of a step's windows are merged.
func (a *attempt) setFold(n *stageNode) error {
	w := n.step.Window
	layout, err := aggregate.New(w.Aggregates)
	if err != nil {
		return err
	}
	if window.NewFolder(w.Spec, layout, w.Env()) == nil {
		return nil
	}
	folders := sync.Pool{New: func() any { return window.NewFolder(w.Spec, layout, w.Env()) }}
	a.store.SetFold(n.operator, func(dst, older, newer []byte) ([]byte, error) {
		f := folders.Get().(*window.Folder)
		defer folders.Put(f)
		return f.Fold(dst, older, newer)
	})
	return nil
}

// windowParts is how many operators share the memory for windows and what dedup remembers.
func windowParts(p *plan.Plan, shards int) int64 {
	n := 0
	for _, s := range p.Steps {
		if s.Dedup != nil || s.Window != nil && !window.StaysInMemory(s.Window.Spec, s.Window.Env()) {
			n += shards
		}
	}
	return int64(n)
}

// looksUp says that a step looks up single keys in the store.
func looksUp(p *plan.Plan) bool {
	for _, s := range p.Steps {
		if s.Dedup != nil || s.Window != nil && window.ByKey(s.Window.Spec, s.Window.Env()) {
			return true
		}
	}
	return false
}

// longestPause bounds how far the interval of checkpoints is stretched.
const longestPause = 10 * time.Second

// pace is the least pause between two checkpoints: more than the interval where commits take long or the database falls behind, see
// checkpoint.Pace.
func (a *attempt) pace(last checkpoint.Stats) time.Duration {
	interval := a.plan.Checkpoint.Interval
	if p := checkpoint.Pace(interval, longestPause, last, state.DefaultSublevels); p > interval {
		return p
	}
	return 0
}
