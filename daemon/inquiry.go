package daemon

import (
	"context"
	"fmt"
	"os"
	"sort"

	"github.com/tidemark-stream/tidemark/daemon/admin"
	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

var _ admin.Daemon = (*Daemon)(nil)

// listen opens the admin addresses.
func (d *Daemon) listen() (*admin.Server, error) {
	c := d.set.Config.Admin
	s, err := admin.Listen(admin.Settings{
		Daemon: d, Clock: d.set.Clock, Log: d.set.Log.Named("admin"), Version: d.set.Version,
		Socket: c.Socket, Address: c.Address, Token: c.Token, PProf: c.PProf, Processes: d.set.Host.Processes, Metrics: d.set.Host.Metrics,
	})
	if err == nil {
		d.set.Log.Info("the daemon can be asked", "socket", c.Socket, "address", s.Address())
	}
	return s, err
}

// Pipelines lists the pipelines by file, and the files that were refused.
func (d *Daemon) Pipelines() ([]admin.Pipeline, []api.Refused) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []admin.Pipeline
	for _, r := range d.runners {
		all = append(all, admin.Pipeline{File: r.file, Pipeline: r.pipe})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].File < all[j].File })
	var refused []api.Refused
	for file, r := range d.refused {
		refused = append(refused, api.Refused{File: file, Why: r.why, Running: d.runners[file] != nil})
	}
	sort.Slice(refused, func(i, j int) bool { return refused[i].File < refused[j].File })
	return all, refused
}

// Starting is why the daemon itself is not ready: it is not, before the pipelines' files were read.
func (d *Daemon) Starting() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.scanned {
		return "the daemon has not read all pipelines' files yet"
	}
	return ""
}

// Orders that a pipeline can be given from outside.
const (
	Stop    = "stop"    // commit and stop; no window gives a result for it. It stays stopped until an order, or the daemon's next start.
	Resume  = "resume"  // go on after a stop, or after it has ended or failed, with the file as it is now
	Restart = "restart" // the one and then the other
	Drain   = "drain"   // come to an end: sources stop, every window gives its result, all is delivered. Then it is as after a stop.
)

// Order has a pipeline stopped, drained, resumed or restarted, and returns when that is done. A drain goes on when ctx has ended.
func (d *Daemon) Order(ctx context.Context, name, verb string) error {
	if verb == Drain {
		return d.drain(ctx, name)
	}
	if verb != Stop && verb != Resume && verb != Restart {
		return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("a pipeline can be told to %s, %s, %s or %s, and not to %s", Stop, Drain, Resume, Restart, verb)}
	}
	d.work.Lock()
	defer d.work.Unlock()
	r, life, err := d.named(name)
	if err != nil {
		return err
	}
	ended := r.ended()
	switch {
	case verb == Stop && r.held.Load():
		return nil
	case verb == Stop:
		d.set.Log.Info("pipeline stops, as ordered", "pipeline", name)
		r.held.Store(true)
		d.stop(r)
		return nil
	case verb == Resume && !ended:
		return &api.Error{Kind: api.NotOpen, Message: fmt.Sprintf("pipeline %s is %s, so there is nothing to resume", name, r.pipe.State())}
	}
	info, err := os.Stat(r.file)
	if err != nil {
		return &api.Error{Kind: api.Failed, Message: err.Error()}
	}
	s := stamp{info.Size(), info.ModTime()}
	p, plugins, err := d.load(r.file, s, !ended)
	if err != nil {
		return &api.Error{Kind: api.Failed, Message: firstLine(err)}
	}
	d.set.Log.Info("pipeline starts again, as ordered", "pipeline", name)
	d.stop(r)
	d.start(life, r.file, s, p, plugins)
	return nil
}

// named finds the pipeline of a name, and the daemon's life; d.work is held.
func (d *Daemon) named(name string) (*runner, context.Context, error) {
	var r *runner
	for _, other := range d.all() {
		if other.name == name {
			r = other
		}
	}
	d.mu.Lock()
	life := d.life
	d.mu.Unlock()
	if r == nil || life == nil {
		_, refused := d.Pipelines()
		return nil, nil, &api.Error{Kind: api.NotFound, Message: admin.NoPipeline(name, refused)}
	}
	if life.Err() != nil {
		return nil, nil, &api.Error{Kind: api.Restarts, Message: "the daemon stops"}
	}
	return r, life, nil
}

// drain begins a drain and waits for its end, which takes as long as the sinks do: so nothing else waits meanwhile.
func (d *Daemon) drain(ctx context.Context, name string) error {
	r, err := d.beginDrain(name)
	if err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if s := r.pipe.State(); s != pipeline.Finished {
		return &api.Error{Kind: api.Failed, Message: fmt.Sprintf("pipeline %s has not drained: it is %s", name, s)}
	}
	return nil
}

func (d *Daemon) beginDrain(name string) (*runner, error) {
	d.work.Lock()
	defer d.work.Unlock()
	r, _, err := d.named(name)
	if err != nil {
		return nil, err
	}
	if r.ended() {
		return nil, &api.Error{Kind: api.NotOpen, Message: fmt.Sprintf("pipeline %s is %s, so there is nothing to drain", name, r.pipe.State())}
	}
	d.set.Log.Info("pipeline drains, as ordered", "pipeline", name)
	r.held.Store(true)
	r.pipe.Drain()
	return r, nil
}
