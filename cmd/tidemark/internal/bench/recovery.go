package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// Recovery says how a run went on that was killed.
type Recovery struct {
	KilledAfter float64 `json:"killed_after_seconds"`
	// FirstResult is how long after its new start the program brought the first result that was not there before.
	FirstResult float64 `json:"first_result_seconds"`
	Rest        float64 `json:"rest_seconds"` // from the new start to the end
	Same        bool    `json:"same_bytes"`   // as the output of a run that was not disturbed
}

// recovery kills the program in the middle and starts it again on the same state.
func (b *bencher) recovery(ctx context.Context, p *prepared, c Contestant, round int) (Sample, error) {
	calm, err := b.calm(ctx, p, c)
	if err != nil {
		return Sample{}, fmt.Errorf("undisturbed run: %w", err)
	}
	random := rand.New(rand.NewPCG(uint64(round), 8)) // the same places in every benchmark
	after := time.Duration((0.2 + 0.6*random.Float64()) * calm.Seconds * float64(time.Second))
	for range tries {
		s, err := b.killed(ctx, p, c, round, after, calm)
		if !errors.Is(err, errTooLate) {
			return s, err
		}
		after /= 2
	}
	return Sample{}, fmt.Errorf("%w; take more lines", errTooLate)
}

// tries is how often an earlier moment is taken when a run was faster than the undisturbed one.
const tries = 5

// killed is a run that is killed after a while, and then goes on to its end.
func (b *bencher) killed(ctx context.Context, p *prepared, c Contestant, round int, after time.Duration, calm Sample) (Sample, error) {
	x, err := b.newChild(p, c, round, []string{p.path})
	if err != nil {
		return Sample{}, err
	}
	defer x.remove()
	state := filepath.Join(x.dir, "state")
	first, err := x.finish(ctx, x.command(ctx, state), func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil // it has ended before
		case <-time.After(after):
			return errKilled
		}
	})
	if err == nil {
		return first, errTooLate
	}
	if !errors.Is(err, errKilled) {
		return first, err
	}
	before := size(x.output())
	begun := time.Now()
	var grown time.Duration
	s, err := x.finish(ctx, x.command(ctx, state), func(ctx context.Context) error {
		for size(x.output()) <= before {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Millisecond):
			}
		}
		grown = time.Since(begun)
		return nil
	})
	if err != nil {
		return s, err
	}
	if grown == 0 {
		grown = time.Since(begun) // all that was new came between the last look and the end
	}
	s.Recovery = &Recovery{KilledAfter: first.Seconds, FirstResult: grown.Seconds(), Rest: s.Seconds}
	s.Seconds += first.Seconds
	s.CPUSeconds += first.CPUSeconds
	if err := x.judge(&s); err != nil {
		return s, err
	}
	if s.Recovery.Same = s.OutputHash == calm.OutputHash; !s.Recovery.Same && s.Wrong == "" {
		s.Wrong = "the results are right, but not in the bytes of a run that was not disturbed"
	}
	return s, nil
}

var (
	errKilled  = errors.New("killed") // ends a run that is to be ended so
	errTooLate = errors.New("it was done before it could be killed")
)

// calm is a run of a contestant that nobody disturbs: once a workload.
func (b *bencher) calm(ctx context.Context, p *prepared, c Contestant) (Sample, error) {
	key := p.Name + " " + c.Name
	if s, ok := b.undisturbed[key]; ok {
		return s, nil
	}
	x, err := b.newChild(p, c, 0, []string{p.path})
	if err != nil {
		return Sample{}, err
	}
	defer x.remove()
	s, err := x.finish(ctx, x.command(ctx, filepath.Join(x.dir, "state")), nil)
	if err != nil {
		return s, err
	}
	if err := x.judge(&s); err != nil {
		return s, err
	}
	if s.Wrong != "" {
		return s, errors.New(s.Wrong)
	}
	b.undisturbed[key] = s
	return s, nil
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
