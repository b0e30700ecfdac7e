// Package pipeline runs one pipeline: it builds the parts a plan names, wires them, keeps them going and stops them in order.
//
// A [Pipeline] lives through attempts. Each attempt opens the state, restores what the last commit holds, starts plugins, stages
// and sinks, and runs until the sources end, until it is told to stop, or until something fails; after a failure the next
// attempt goes on from the last commit, with a growing pause between them.
//
// What belongs to one attempt:
//
//	lane (one a source)   intake ─▶ workers: decode ─▶ guard, assigner ─▶ combine ─▶ workers: transforms, keys ─▶ emit
//	stage (one a window)  shards and their collector, package shard
//	sink                  rows joined, numbered and delivered, package deliver
//	coordinator           barriers in, one commit out (I1)
//
// Everything between two goroutines is bounded (I6). Backpressure acts at a lane's intake: when results wait that no sink takes, no
// more input is taken, while barriers still pass. So a stuck sink never keeps a checkpoint from being taken.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/go-hclog"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/deadletter"
)

// Plugins opens running plugins, in processes of their own or inside the daemon; the pipeline sees no difference.
type Plugins interface {
	OpenSource(ctx context.Context, open wire.SourceOpen, isolation host.Isolation) (wire.Source, error)
	OpenAssigner(ctx context.Context, open wire.AssignerOpen, isolation host.Isolation) (wire.Assigner, error)
	OpenTransform(ctx context.Context, open wire.TransformOpen, isolation host.Isolation) (wire.Transform, error)
	OpenWindows(ctx context.Context, open wire.WindowsOpen, isolation host.Isolation) (wire.Windows, error)
	OpenSink(ctx context.Context, open wire.SinkOpen, isolation host.Isolation) (wire.Sink, error)
}

// Settings is what a pipeline is given beside its plan.
type Settings struct {
	Clock    clock.Clock
	Plugins  Plugins
	StateDir string // the pipeline's own directory; it is made
	// Ephemeral says that the directory is removed when the process ends: nothing in it has to survive a power failure.
	Ephemeral bool
	Log       hclog.Logger
	// Foreground says that somebody waits for the pipeline and can mend what keeps it from starting: a failure of the first attempt before a
	// record has come in is a [StartError] and ends it. Otherwise it is tried again, like all others.
	Foreground bool
	// Replay, when not nil, makes a run that reads these dead letters' records, by source, instead of the sources themselves, commits and
	// stops. Where the sources stand does not change.
	Replay map[string][]deadletter.Letter
	// AllowReset names components whose state may be dropped when the plan has changed so that it is of no use any more.
	AllowReset []string
	Workers    int // decoding goroutines and shards where the plan does not say; 0 = GOMAXPROCS
	// FS holds the state and the dead letters; nil is the disk. A test passes a file system in memory.
	FS vfs.FS
	// Drive is given the [Driver] of each attempt when it runs. With it the pipeline does nothing by the clock by itself, and an attempt
	// that fails is not followed by another one.
	Drive func(*Driver)
	// Tap is shown the rows that a sink's queue takes, in their order: for a sink of text raw rows, else columns. They are only lent. Nil:
	// nobody looks.
	Tap func(sink string, rows *batch.Batch)
	// Trace is shown each batch of a source with its times and the marks of the source's combined watermark, in order. It is only lent.
	Trace func(source string, b *batch.Batch)
	// Late is shown the rows of a step's batches that were late, and the watermark they were judged against. They are only lent.
	Late func(step string, b *batch.Batch, rows []uint32, watermark int64)
	// Seen is shown batches on their way through the steps. It is called by several goroutines at a time; the batches are only lent.
	Seen func(component string, p Passage, b *batch.Batch)
	// StopTimeout bounds an orderly stop; after it the pipeline is ended where it is, at its last commit.
	StopTimeout time.Duration
}

// Pipeline is one pipeline's life. Use New, then Run once; the other methods may be called at any time by any goroutine.
type Pipeline struct {
	plan *plan.Plan
	set  Settings

	mu      sync.Mutex
	current *attempt
	state   State
	since   time.Time
	doing   string // while it starts: what it opens
	begun   time.Time
	failure error // of the last attempt
	tries   int
	total   Summary
	commits commitStats
	wards   map[string]*ward // by component

	draining  chan struct{} // closed when a drain is asked for
	drainOnce sync.Once

	taps taps
}

// State is what a pipeline is doing.
type State string

// The states.
const (
	Starting State = "starting"
	Running  State = "running"
	Stopping State = "stopping"
	Draining State = "draining" // to its end, see [Pipeline.Drain]
	Waiting  State = "waiting"  // for the next attempt after a failure
	Finished State = "finished"
	Stopped  State = "stopped"
	Failed   State = "failed" // for good
)

// New makes a pipeline that has not started.
func New(p *plan.Plan, set Settings) *Pipeline {
	if set.StopTimeout == 0 {
		set.StopTimeout = 30 * time.Second
	}
	return &Pipeline{plan: p, set: set, draining: make(chan struct{}), state: Starting, since: set.Clock.Now(), begun: set.Clock.Now(), total: Summary{Pipeline: p.Name}}
}

// ErrCrashed is how a pipeline ends after [Driver.Crash].
var ErrCrashed = errors.New("crashed on request")

// Permanent marks a failure that another attempt will not mend: a damaged state directory, a plugin that is not there.
func Permanent(err error) error { return &permanentError{err} }

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// StartError is why a pipeline in the foreground has not come to life: a file or a folder is not there, a port is taken, a plugin cannot
// be run.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// start makes a [StartError] of a failure that is one. A plugin that has died or hangs is no circumstance that can be mended outside.
func (p *Pipeline) start(err error) error {
	var plugin *host.Failure
	broken := errors.As(err, &plugin) && (plugin.Reason == host.Died || plugin.Reason == host.Hung || plugin.Reason == host.BrokeProtocol)
	waits := errors.Is(err, state.NoSpace) // it goes on by itself when there is room
	if !p.set.Foreground || broken || waits || p.tries > 1 || p.Summary().In > 0 {
		return nil
	}
	return &StartError{err}
}

// Run runs the pipeline until its sources have ended and all results are delivered (nil), until ctx is done and an orderly stop is
// committed (nil), or until it fails for good.
func (p *Pipeline) Run(ctx context.Context) error {
	r := p.plan.Restart
	backoff := host.Backoff{Min: r.Backoff, Max: r.MaxBackoff, ResetAfter: r.ResetAfter, Limit: r.MaxAttempts}
	crashes := host.Backoff{ResetAfter: r.ResetAfter, Limit: r.MaxCrashes}
	proven := 0
	for {
		begun := p.set.Clock.Now()
		end, err := p.attempt(ctx)
		if err == nil {
			p.enter(end, nil)
			return nil
		}
		if ctx.Err() != nil {
			p.enter(Failed, err)
			return fmt.Errorf("stop: %w", err)
		}
		lasted := p.set.Clock.Since(begun)
		wait, again := backoff.Failed(lasted, rand.Float64())
		p.mu.Lock() // others ask for the state at the same time
		p.tries = backoff.Failures()
		p.mu.Unlock()
		found, meanwhile, useless := p.verdicts()
		if meanwhile != proven { // the reason for the failures before has been found
			proven = meanwhile
			crashes.Reset()
		}
		if host.Crash(err) == nil && !useless {
			crashes.Reset()
		} else if _, more := crashes.Failed(lasted, 0); !more {
			again, err = false, &CrashLoopError{Failures: crashes.Failures(), Refused: found - proven, Err: err}
		}
		var permanent *permanentError
		if p.set.Drive != nil {
			p.enter(Failed, err)
			return err
		}
		if failed := p.start(err); failed != nil {
			p.enter(Failed, err)
			return failed
		}
		if errors.As(err, &permanent) || !again {
			p.enter(Failed, err)
			return err
		}
		p.enter(Waiting, err)
		p.set.Log.Error("pipeline failed; it goes on from its last commit", "error", err, "attempt", p.tries, "pause", wait.Round(time.Millisecond).String())
		timer := p.set.Clock.NewTimer(wait)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			p.enter(Stopped, nil)
			return nil
		}
	}
}

// CrashLoopError is why a pipeline stays failed whose plugin has crashed again and again.
type CrashLoopError struct {
	Failures int   // in a row
	Refused  int   // records that were taken for the reason meanwhile, though the plugin has answered no other one either
	Err      error // the last one
}

func (e *CrashLoopError) Error() string {
	refused := ""
	if e.Refused > 0 {
		refused = fmt.Sprintf("; it has answered none of the other records, so the %d that were refused meanwhile (reason poison) are hardly to blame: `tidemark deadletters replay` brings in again those that are in the dead letters", e.Refused)
	}
	return fmt.Sprintf("%v; that was failure %d in a row of a plugin, so it is not started again (max_crashes in [restart]); mend the plugin, then restart the pipeline%s", e.Err, e.Failures, refused)
}

func (e *CrashLoopError) Unwrap() error { return e.Err }

// verdicts sums up what the wards have found, see [ward.verdicts].
func (p *Pipeline) verdicts() (found, proven int, useless bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.wards {
		f, n, u := w.verdicts()
		found, proven, useless = found+f, proven+n, useless || u
	}
	return found, proven, useless
}

func (p *Pipeline) enter(s State, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failure = err
	}
	if p.state != s {
		p.state, p.since = s, p.set.Clock.Now()
	}
}

// attempt builds everything, runs it and takes it down.
func (p *Pipeline) attempt(ctx context.Context) (State, error) {
	p.enter(Starting, nil)
	p.opens("its state")
	a, err := p.build(ctx)
	if err != nil && ctx.Err() != nil {
		return Stopped, nil // nothing had begun
	}
	if err != nil {
		return Failed, err
	}
	defer func() {
		if err := a.close(); err != nil { // nothing of what was committed depends on it
			p.set.Log.Warn("the pipeline was not taken down in order", "error", err)
		}
	}()
	p.mu.Lock()
	p.current = a
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.total.add(a)
		p.current = nil
	}()
	p.enter(Running, nil)
	return a.run(ctx)
}
