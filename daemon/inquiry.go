package daemon

import (
	"context"
	"fmt"
	"os"
	"sort"

	"github.com/tidemark-stream/tidemark/daemon/admin"
	"github.com/tidemark-stream/tidemark/daemon/admin/api"
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
)

// Order has a pipeline stopped, resumed or restarted, and returns when that is done.
func (d *Daemon) Order(_ context.Context, name, verb string) error {
	if verb != Stop && verb != Resume && verb != Restart {
		return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("a pipeline can be told to %s, %s or %s, and not to %s", Stop, Resume, Restart, verb)}
	}
	d.work.Lock()
	defer d.work.Unlock()
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
		return &api.Error{Kind: api.NotFound, Message: admin.NoPipeline(name, refused)}
	}
	if life.Err() != nil {
		return &api.Error{Kind: api.Restarts, Message: "the daemon stops"}
	}
	ended := false
	select {
	case <-r.done:
		ended = true
	default:
	}
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
