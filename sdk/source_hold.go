package sdk

import "github.com/tidemark-stream/tidemark/sdk/wire"

var _ wire.Holder = (*sourceRun)(nil)

// Hold notes that a partition is to be left alone, or goes on, and wakes those that wait for that.
func (r *sourceRun) Hold(id uint32, held bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.byID[id]
	if p == nil || p.held.Swap(held) == held {
		return nil
	}
	close(r.holds)
	r.holds = make(chan struct{})
	return nil
}

// holdsChange is closed at the next change.
func (r *sourceRun) holdsChange() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holds
}

// waitWhileHeld returns when the partition may be read, or errStopped.
func (p *partition) waitWhileHeld() error {
	for {
		change := p.run.holdsChange() // first, so that no change is missed
		if !p.held.Load() {
			return nil
		}
		select {
		case <-change:
		case <-p.run.stop.Done():
			return errStopped
		}
	}
}
