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

// Recovery says how a run went on that was killed again and again.
type Recovery struct {
	Kills []Kill `json:"kills"`
	Same  bool   `json:"same_bytes"` // as the output of a run that was not disturbed
}

// Kill is one SIGKILL to the program, and what came after its new start on the same state.
type Kill struct {
	Moment  Moment  `json:"moment"`
	Lived   float64 `json:"lived_seconds"` // from the start before to the kill
	Written int64   `json:"written_bytes"` // of results that stood in the output
	// FirstRecord is how long after the new start the program took its first record: its state was open and restored, and its source had
	// found its place. FirstResult is when the first result stood in the output that had not been there before; after a kill in the middle of a
	// window that holds the rest of the window's input, too. 0: the next kill or the end came before.
	FirstRecord float64 `json:"first_record_seconds,omitempty"`
	FirstResult float64 `json:"first_result_seconds,omitempty"`
}

// Moment is what the program was at when it was killed.
type Moment string

// The moments.
const (
	// AtRandom is a random time, which mostly is in the middle of a window.
	AtRandom Moment = "at_random"
	// InResults is when a random share of all results stands in the output: while a window that has ended is being written, so that the
	// next result is due at once.
	InResults Moment = "in_results"
)

func (m Moment) words() string {
	if m == InResults {
		return "while results were being written"
	}
	return "at a random moment"
}

var (
	errKilled  = errors.New("killed") // ends a run that is to be ended so
	errTooLate = errors.New("it was done before it could be killed")
)

// tries is how often earlier moments are taken when a run was faster than the undisturbed one.
const tries = 5

// recovery kills the program several times in one run, and starts it again on the same state each time.
func (b *bencher) recovery(ctx context.Context, p *prepared, c Contestant, round int) (Sample, error) {
	calm, err := b.calm(ctx, p, c)
	if err != nil {
		return Sample{}, fmt.Errorf("undisturbed run: %w", err)
	}
	share := 1.0
	for range tries {
		s, err := b.killed(ctx, p, c, round, share, calm)
		if !errors.Is(err, errTooLate) {
			return s, err
		}
		share /= 2
	}
	return Sample{}, fmt.Errorf("%w; take more lines", errTooLate)
}

// killed is a run that is killed up to b.Kills times and then goes on to its end.
func (b *bencher) killed(ctx context.Context, p *prepared, c Contestant, round int, share float64, calm Sample) (s Sample, err error) {
	x, err := b.newChild(p, c, round, []string{p.path})
	if err != nil {
		return s, err
	}
	defer x.remove()
	random := rand.New(rand.NewPCG(uint64(round), 8)) // the same shares in every benchmark
	r := &Recovery{}
	var stood int64 // the most that has been in the output
	for ended := false; !ended; {
		life := &life{output: x.output(), stood: stood}
		switch left := b.Kills - len(r.Kills); {
		case left <= 0:
			life.never = true
		case len(r.Kills)%2 == 0:
			life.moment = AtRandom
			life.after = time.Duration(random.Float64() * share * calm.Seconds / float64(b.Kills) * float64(time.Second))
		default:
			life.moment = InResults
			life.bytes = stood + int64(random.Float64()*float64(calm.written-stood)/float64(left))
		}
		one, err := x.live(ctx, life)
		if ended = err == nil; err != nil && !errors.Is(err, errKilled) {
			return one, err
		}
		if n := len(r.Kills); n > 0 {
			r.Kills[n-1].FirstRecord, r.Kills[n-1].FirstResult = one.FirstRecord, life.grown.Seconds()
		}
		stood = max(stood, size(x.output()))
		if !ended {
			r.Kills = append(r.Kills, Kill{Moment: life.moment, Lived: one.Seconds, Written: stood})
		}
		s = one.after(s)
	}
	if len(r.Kills) == 0 {
		return s, errTooLate
	}
	s.Recovery = r
	if err := x.judge(&s); err != nil {
		return s, err
	}
	if r.Same = s.OutputHash == calm.OutputHash; !r.Same && s.Wrong == "" {
		s.Wrong = "the results are right, but not in the bytes of a run that was not disturbed"
	}
	return s, nil
}

// after adds what earlier lives of the same run have taken. The program's own figures are those of its last life.
func (s Sample) after(earlier Sample) Sample {
	s.Seconds += earlier.Seconds
	s.CPUSeconds += earlier.CPUSeconds
	s.PeakDaemon, s.PeakPlugins = max(s.PeakDaemon, earlier.PeakDaemon), max(s.PeakPlugins, earlier.PeakPlugins)
	return s
}

// life is the time from a start of the program to its end.
type life struct {
	output string
	stood  int64 // bytes of the output that are nothing new

	never  bool // it is not killed
	moment Moment
	after  time.Duration // for AtRandom
	bytes  int64         // for InResults

	grown time.Duration // after which there was something new; 0: never
}

// live starts the program on the run's state and lets it live its life.
func (x *child) live(ctx context.Context, l *life) (Sample, error) {
	for _, old := range []string{x.stats(), FirstFile(x.stats())} { // of the life before
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return Sample{}, err
		}
	}
	begun := time.Now()
	s, err := x.finish(ctx, x.command(ctx, filepath.Join(x.dir, "state")), func(ctx context.Context) error { return l.watch(ctx, begun) })
	if at, ok := readFirst(FirstFile(x.stats())); ok {
		s.FirstRecord = at.Sub(begun).Seconds()
	}
	if err == nil && l.grown == 0 && size(l.output) > l.stood {
		l.grown = time.Since(begun) // all that was new came between the last look and the end
	}
	return s, err
}

// watch looks at the output until the life has ended or is to be ended.
func (l *life) watch(ctx context.Context, begun time.Time) error {
	for {
		now, written := time.Since(begun), size(l.output)
		if l.grown == 0 && written > l.stood {
			l.grown = now
		}
		switch {
		case l.never && l.grown > 0:
			return nil
		case l.moment == AtRandom && now >= l.after, l.moment == InResults && written > l.bytes:
			return errKilled
		}
		select {
		case <-ctx.Done():
			return nil // it has ended before
		case <-time.After(time.Millisecond):
		}
	}
}

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
	s.written = size(x.output())
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

// recovered gathers a figure of all kills of a moment.
func (c *ContestantReport) recovered(m Moment, f func(k Kill) float64) Spread {
	var values []float64
	for _, s := range c.Samples {
		if s.Recovery == nil {
			continue
		}
		for _, k := range s.Recovery.Kills {
			if v := f(k); k.Moment == m && v > 0 {
				values = append(values, v)
			}
		}
	}
	return spread(values)
}
