package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/go-hclog"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// world is what lasts over the lives of a case: the clock, the disk, what sources have said and what sinks hold.
type world struct {
	tested   *tested
	clock    *clock.Virtual
	disk     *vfs.MemFS
	scripts  []*script
	captures *captures
	trace    func(source string, b *batch.Batch)
	late     func(step string, b *batch.Batch, rows []uint32, watermark int64)
	seen     func(component string, p pipeline.Passage, b *batch.Batch)

	life *life // nil when no process lives
}

func newWorld(t *tested, start time.Time) *world {
	w := &world{tested: t, clock: clock.NewVirtual(start), disk: vfs.NewCrashableMem(), captures: newCaptures()}
	for _, s := range t.plan.Sources {
		w.scripts = append(w.scripts, newScript(s.Name, s.Decode == nil))
	}
	return w
}

func (w *world) script(name string) *script {
	for _, s := range w.scripts {
		if s.name == name {
			return s
		}
	}
	return nil
}

// life is one process: a pipeline from its start to its end.
type life struct {
	pipeline *pipeline.Pipeline
	driver   *pipeline.Driver
	feeds    map[string]*feed
	stop     context.CancelFunc
	done     chan struct{}
	err      error // of Run, when done is closed
}

// stateDir is a path in the file system in memory.
const stateDir = "/state"

// start begins a life, and brings the sources to where the script is.
func (w *world) start() error {
	ctx, stop := context.WithCancel(context.Background())
	l := &life{feeds: map[string]*feed{}, stop: stop, done: make(chan struct{})}
	running := make(chan *pipeline.Driver, 1)
	l.pipeline = pipeline.New(w.tested.plan, pipeline.Settings{
		Clock: w.clock, Plugins: &ends{Plugins: w.tested.plugins, world: w, life: l}, StateDir: stateDir, FS: w.disk, Log: hclog.NewNullLogger(),
		Workers: 2, Drive: func(d *pipeline.Driver) { running <- d }, Tap: w.captures.tap, Trace: w.trace, Late: w.late, Seen: w.seen,
	})
	w.life = l
	go func() {
		defer close(l.done)
		l.err = l.pipeline.Run(ctx)
	}()
	select {
	case l.driver = <-running:
	case <-l.done:
		return l.failure()
	}
	return w.pump()
}

// failure is why the life has ended although nobody wanted that.
func (l *life) failure() error {
	<-l.done
	if l.err == nil {
		return errors.New("the pipeline has ended")
	}
	return l.err
}

// pump hands over what the sources have to say, one event at a time, each worked through before the next. A source, or a partition of
// one, that is too far ahead of others (max_drift) is left until they have caught up.
func (w *world) pump() error {
	l := w.life
	for moved := true; moved; {
		moved = false
		for _, s := range w.scripts {
			f := l.feeds[s.name]
			for {
				if err := l.driver.HoldApart(s.name); err != nil {
					return l.failure()
				}
				if f.next() == nil {
					break
				}
				if f.next().kind == wire.SourceBatch && l.driver.Waits(s.name) {
					l.driver.Hold(s.name, true)
					break
				}
				l.driver.Hold(s.name, false)
				last := f.next().kind == wire.SourceEnded
				if !f.give(l.driver.Done()) {
					return l.failure()
				}
				moved = true
				if last && w.over() {
					return w.finish()
				}
				if err := l.driver.Settle(); err != nil {
					return l.failure()
				}
			}
		}
	}
	return nil
}

// waits reports whether a partition has something to say and is left alone (max_drift).
func (w *world) waits(source, partition string) bool {
	for _, e := range w.life.feeds[source].pending {
		if e.partition == partition {
			return true
		}
	}
	return false
}

// over reports whether all sources have said their last.
func (w *world) over() bool {
	for _, s := range w.scripts {
		if f := w.life.feeds[s.name]; !s.ended || len(f.pending) > 0 {
			return false
		}
	}
	return true
}

// finish waits for the pipeline, whose sources have all ended.
func (w *world) finish() error {
	l := w.life
	<-l.done
	if l.err != nil {
		return l.err
	}
	w.captures.commit()
	w.life = nil
	return nil
}

// say appends to what a source has said.
func (w *world) say(s *script, e event) error {
	added := s.add(e)
	if w.life == nil {
		return errors.New("all sources have ended, so the pipeline is over")
	}
	f := w.life.feeds[s.name]
	f.pending = append(f.pending, added...)
	return w.pump()
}

// end says that a source has ended, and its partitions with it.
func (w *world) end(s *script) error {
	for _, p := range s.partitions {
		if err := w.endPartition(s, p); err != nil {
			return err
		}
	}
	s.ended = true
	if w.life == nil {
		return errors.New("all sources have ended, so the pipeline is over")
	}
	f := w.life.feeds[s.name]
	f.pending = append(f.pending, event{kind: wire.SourceEnded})
	return w.pump()
}

func (w *world) endPartition(s *script, partition string) error {
	for _, e := range s.history {
		if e.partition == partition && e.kind == wire.PartitionEnded {
			return nil
		}
	}
	return w.say(s, event{kind: wire.PartitionEnded, partition: partition})
}

// advance moves the clock on, and does on the way what falls due, at its time.
func (w *world) advance(d time.Duration) error {
	end := w.clock.Now().Add(d)
	stuck := 0
	for w.life != nil {
		due := w.life.driver.Due()
		if due == math.MaxInt64 || time.UnixMilli(due).After(end) {
			break
		}
		if wait := time.UnixMilli(due).Sub(w.clock.Now()); wait > 0 {
			w.clock.Advance(wait)
			stuck = 0
		} else if stuck++; stuck > 1000 {
			return fmt.Errorf("the pipeline does not come to rest at %s", w.clock.Now().UTC().Format(time.RFC3339Nano))
		}
		made := w.life.driver.Checkpoints()
		if err := w.life.driver.Fire(); err != nil {
			return w.life.failure()
		}
		if w.life.driver.Checkpoints() > made {
			w.captures.commit()
		}
		if err := w.pump(); err != nil {
			return err
		}
	}
	if rest := end.Sub(w.clock.Now()); rest > 0 {
		w.clock.Advance(rest)
	}
	return nil
}

func (w *world) checkpoint() error {
	if w.life == nil {
		return nil
	}
	if err := w.life.driver.Checkpoint(); err != nil {
		return w.life.failure()
	}
	w.captures.commit()
	return nil
}

// crash ends the process where it stands: only what was synced to the disk remains.
func (w *world) crash() error {
	disk := w.disk.CrashClone(vfs.CrashCloneCfg{})
	if w.life != nil {
		w.life.driver.Crash()
		<-w.life.done
		if !errors.Is(w.life.err, pipeline.ErrCrashed) {
			return w.life.failure()
		}
		w.captures.crash()
	}
	w.disk = disk
	return w.start()
}

// restart stops in order and starts again.
func (w *world) restart() error {
	if err := w.stop(); err != nil {
		return err
	}
	return w.start()
}

func (w *world) stop() error {
	if w.life == nil {
		return nil
	}
	w.life.stop()
	<-w.life.done
	if w.life.err != nil {
		return w.life.err
	}
	w.captures.commit()
	w.life = nil
	return nil
}

// close ends whatever still lives; the case is over.
func (w *world) close() {
	if w.life == nil {
		return
	}
	if w.life.driver != nil {
		w.life.driver.Crash()
	}
	w.life.stop()
	<-w.life.done
	w.life = nil
}

// ends gives a pipeline the script for its sources and the captures for its sinks. What lies between is what it is.
type ends struct {
	pipeline.Plugins
	world *world
	life  *life
}

func (e *ends) OpenSource(_ context.Context, open wire.SourceOpen, _ host.Isolation) (wire.Source, error) {
	f, err := e.world.script(open.Place.Component).open(open.Restored)
	if err != nil {
		return nil, err
	}
	e.life.feeds[open.Place.Component] = f
	return f, nil
}

func (e *ends) OpenSink(_ context.Context, open wire.SinkOpen, _ host.Isolation) (wire.Sink, error) {
	name := open.Place.Component
	return &sink{to: e.world.captures, name: name, exact: e.world.tested.exact(name)}, nil
}
