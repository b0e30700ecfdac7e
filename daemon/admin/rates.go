package admin

import (
	"context"
	"sync"
	"time"
)

// Rates are those of the last window of time, looked at once in a while.
const (
	sampleEvery = time.Second
	sampleCount = 10
)

// rates knows how many records pipelines had at the last few looks.
type rates struct {
	mu   sync.Mutex
	seen map[string][]sample // by pipeline, oldest first
}

type sample struct {
	at      time.Time
	records int64
}

// sample looks at the pipelines until ctx is done.
func (s *Server) sample(ctx context.Context) {
	t := s.set.Clock.NewTicker(sampleEvery)
	defer t.Stop()
	for {
		s.look()
		select {
		case <-ctx.Done():
			return
		case <-t.C():
		}
	}
}

func (s *Server) look() {
	all, _ := s.set.Daemon.Pipelines()
	now := s.set.Clock.Now()
	s.rates.mu.Lock()
	defer s.rates.mu.Unlock()
	next := make(map[string][]sample, len(all))
	for _, p := range all {
		old, n := s.rates.seen[p.Name()], p.Records()
		if len(old) > 0 && n < old[len(old)-1].records {
			old = nil // another one of that name
		}
		if len(old) >= sampleCount {
			old = append(old[:0], old[len(old)-sampleCount+1:]...)
		}
		next[p.Name()] = append(old, sample{now, n})
	}
	s.rates.seen = next
}

// of is the rate of a pipeline that has so many records now.
func (r *rates) of(name string, now time.Time, records int64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen[name]
	if len(seen) == 0 || records < seen[0].records {
		return 0
	}
	span := now.Sub(seen[0].at).Seconds()
	if span <= 0 {
		return 0
	}
	return float64(records-seen[0].records) / span
}
