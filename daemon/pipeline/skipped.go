package pipeline

import (
	"slices"
	"sync"

	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/window"
)

// SkippedValues are values that an aggregate could not take, such as text where it adds up, and left out.
type SkippedValues struct {
	Name   string `json:"name"` // the result's column
	Func   string `json:"function"`
	Values int64  `json:"values"`
}

// skippedCells is what the shards of a stage have left out, as of each one's last barrier.
type skippedCells struct {
	mu      sync.Mutex
	byShard map[int][]uint64 // for each aggregate
}

// note is called on a shard's goroutine.
func (s *skippedCells) note(shard int, op window.Operator) {
	k, ok := op.(window.Skipper)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byShard == nil {
		s.byShard = map[int][]uint64{}
	}
	s.byShard[shard] = append(s.byShard[shard][:0], k.Skipped()...)
}

// addTo adds what was left out to a step's figures.
func (s *skippedCells) addTo(e *StepSummary, st *plan.Step) {
	if st.Window == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cells := range s.byShard {
		for i, n := range cells {
			if n == 0 || i >= len(st.Window.Aggregates) {
				continue
			}
			spec := st.Window.Aggregates[i]
			at := slices.IndexFunc(e.Skipped, func(v SkippedValues) bool { return v.Name == spec.Name })
			if at < 0 {
				at = len(e.Skipped)
				e.Skipped = append(e.Skipped, SkippedValues{Name: spec.Name, Func: spec.Func})
			}
			e.Skipped[at].Values += int64(n)
		}
	}
	slices.SortFunc(e.Skipped, func(a, b SkippedValues) int { // whichever shard came first
		return indexOf(st.Window, a.Name) - indexOf(st.Window, b.Name)
	})
}

func indexOf(w *plan.Window, name string) int {
	for i, s := range w.Aggregates {
		if s.Name == name {
			return i
		}
	}
	return len(w.Aggregates)
}
