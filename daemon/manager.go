package daemon

import (
	"context"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
)

// How often the start is looked at, and the service manager asked for more time during a start or a stop.
const (
	lookEvery   = 50 * time.Millisecond
	extendEvery = 2 * time.Second
)

// tellManager tells the service manager that the daemon is ready, that it lives and that it stops, until outer is done. ctx is the daemon's own
// life, whose end begins the stop.
//
// It is ready when each pipeline that there was at the start has come as far as it comes by itself: it runs and its sources listen, or its first
// attempt has failed, and the next ones do not hold up the machine's start. It lives as long as the main loop answers and every pipeline can say
// how it does: a sink that hangs, a full disk or a plugin that does not answer are no reason to end all the others.
func (d *Daemon) tellManager(ctx, outer context.Context) {
	m := d.set.Manager
	clk := d.set.Clock
	look := clk.NewTicker(lookEvery)
	defer look.Stop()
	extend := clk.NewTicker(extendEvery)
	defer extend.Stop()
	var alive <-chan time.Time
	if every := m.Watchdog() / 2; every > 0 {
		t := clk.NewTicker(every)
		defer t.Stop()
		alive = t.C()
		m.Alive()
	}
	stopping, lookC := ctx.Done(), look.C()
	for {
		select {
		case <-outer.Done():
			return
		case <-stopping:
			stopping, lookC = nil, nil
			look.Stop()
			m.Stopping()
			m.Status("stopping")
			m.Extend(d.set.Config.StopTimeout + stopGrace)
		case <-lookC:
			if d.begun(ctx) {
				lookC = nil
				look.Stop()
				d.set.Log.Info("daemon is ready")
				m.Ready()
				m.Status("running")
			}
		case <-extend.C():
			if lookC != nil || stopping == nil {
				m.Extend(5 * extendEvery)
			}
		case <-alive:
			if d.lives(m.Watchdog() / 4) {
				m.Alive()
			}
		}
	}
}

// begun says whether every pipeline has come as far as it comes by itself.
func (d *Daemon) begun(ctx context.Context) bool {
	if d.Starting() != "" {
		return false
	}
	all, _ := d.Pipelines()
	runs := false
	for _, p := range all {
		switch p.State() {
		case pipeline.Starting:
			return false
		case pipeline.Running:
			runs = true
		}
	}
	if !runs {
		return true
	}
	ask, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, m := range d.set.Host.Metrics(ask) {
		if m.Gauge && m.Name == sdk.Listening && m.Value == 0 {
			return false
		}
	}
	return ask.Err() == nil
}

// lives says whether the main loop and the pipelines are at work. The main loop has so long to answer; when it waits for a pipeline to stop,
// that has a limit of its own.
func (d *Daemon) lives(patience time.Duration) bool {
	all, _ := d.Pipelines()
	for _, p := range all {
		p.Status() // goes through the locks of all parts: if one is stuck, nobody is told that all is well
	}
	d.mu.Lock()
	busy := d.busy
	d.mu.Unlock()
	if d.set.Clock.Now().Before(busy) {
		return true
	}
	answer := make(chan struct{}, 1)
	timer := d.set.Clock.NewTimer(patience)
	defer timer.Stop()
	select {
	case d.asked <- answer:
		return true
	case <-timer.C():
		return false
	}
}
