package deliver

import (
	"context"
	"sync"
	"sync/atomic"
)

// Budget counts the bytes that wait in the outboxes of a pipeline. While they are too many no more input is taken, but everything that
// is under way goes on, so the limit may be passed by what was under way.
type Budget struct {
	limit int64
	used  atomic.Int64

	mu     sync.Mutex
	relief chan struct{} // under mu: closed, and replaced, when used falls to the limit
}

// NewBudget makes a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit, relief: make(chan struct{})} }

// Used is the number of bytes that wait.
func (b *Budget) Used() int64 { return b.used.Load() }

// Open is true when Wait would return at once.
func (b *Budget) Open() bool { return b.used.Load() <= b.limit }

// Wait returns at once when more input may be taken, and otherwise when that is so, or with the error of ctx. It is cheap: ask before
// each batch.
func (b *Budget) Wait(ctx context.Context) error {
	for b.used.Load() > b.limit {
		b.mu.Lock()
		relief := b.relief
		b.mu.Unlock()
		if b.used.Load() <= b.limit { // it fell between the look and taking the channel
			return nil
		}
		select {
		case <-relief:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (b *Budget) add(n int64) {
	now := b.used.Add(n)
	if n < 0 && now <= b.limit && now-n > b.limit {
		b.mu.Lock()
		close(b.relief)
		b.relief = make(chan struct{})
		b.mu.Unlock()
	}
}
