package daemon

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
)

// runner is one pipeline that runs, has ended, or was stopped by an order.
type runner struct {
	file   string
	stamp  stamp
	name   string
	pipe   *pipeline.Pipeline
	held   atomic.Bool // stopped by an order: only an order starts it again
	cancel context.CancelFunc
	done   chan struct{}
}

// ended is true when the pipeline's life is over: it has finished, failed for good, or was stopped.
func (r *runner) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// stamp tells versions of a file apart.
type stamp struct {
	size  int64
	mtime time.Time
}

// start starts a pipeline; d.work is held.
func (d *Daemon) start(ctx context.Context, file string, s stamp, p *plan.Plan, plugins pipeline.Plugins) {
	inner, cancel := context.WithCancel(ctx)
	log := d.set.Log.With("pipeline", p.Name)
	r := &runner{file: file, stamp: s, name: p.Name, cancel: cancel, done: make(chan struct{})}
	r.pipe = pipeline.New(p, pipeline.Settings{
		Clock: d.set.Clock, Plugins: plugins, StateDir: filepath.Join(d.set.Config.State, p.Name), Log: log, StopTimeout: d.set.Config.StopTimeout,
	})
	d.mu.Lock()
	d.runners[file] = r
	d.mu.Unlock()
	log.Info("pipeline starts", "file", file)
	go func() {
		defer close(r.done)
		defer cancel()
		err := r.pipe.Run(inner)
		sum := r.pipe.Summary()
		if err != nil {
			log.Error("pipeline has failed for good", "error", err)
			return
		}
		log.Info("pipeline has ended", "state", string(r.pipe.State()), "records_in", sum.In, "results", sum.Results, "late", sum.Late, "dead_lettered", sum.DeadLetters)
	}()
}

// stopGrace is what a pipeline may take beyond the stop timeout to take its parts down.
const stopGrace = 5 * time.Second

// stop stops a pipeline and waits for it; d.work is held.
func (d *Daemon) stop(r *runner) {
	d.waits(d.set.Config.StopTimeout + stopGrace)
	defer d.waits(0)
	r.cancel()
	<-r.done
}

// waits notes that the main loop may wait so long for something that ends by itself.
func (d *Daemon) waits(limit time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = d.set.Clock.Now().Add(limit)
}

// stopAll stops the pipelines side by side and waits for them.
func (d *Daemon) stopAll() {
	d.work.Lock()
	defer d.work.Unlock()
	d.waits(d.set.Config.StopTimeout + stopGrace)
	all := d.all()
	for _, r := range all {
		r.cancel()
	}
	for _, r := range all {
		<-r.done
	}
}
