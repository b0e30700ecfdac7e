package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Settings is what a Daemon is made with.
type Settings struct {
	Config *config.Daemon
	Host   *host.Host
	Clock  clock.Clock
	Log    hclog.Logger
	// Load reads a pipeline's file and makes its plan; an error that is a *problem.Errors tells mistakes of the file.
	Load func(file string) (*plan.Plan, pipeline.Plugins, error)
}

// Daemon runs all pipelines of a directory. Use New, then Run once; Reload may be called at any time.
type Daemon struct {
	set    Settings
	reload chan struct{}

	mu      sync.Mutex
	runners map[string]*runner // by file
	refused map[string]stamp   // files with mistakes, told once for each version
}

// runner is one pipeline that runs.
type runner struct {
	file   string
	stamp  stamp
	name   string
	pipe   *pipeline.Pipeline
	cancel context.CancelFunc
	done   chan struct{}
}

// stamp tells versions of a file apart.
type stamp struct {
	size  int64
	mtime time.Time
}

// New makes a daemon that runs nothing yet.
func New(set Settings) *Daemon {
	return &Daemon{set: set, reload: make(chan struct{}, 1), runners: map[string]*runner{}, refused: map[string]stamp{}}
}

// Reload takes over new, changed and removed files now. A changed file with a mistake is reported, and its pipeline goes on as it was.
func (d *Daemon) Reload() {
	select {
	case d.reload <- struct{}{}:
	default:
	}
}

// watchEvery is how often the directory is looked at. Reading the names and times of a hundred files costs well below a millisecond.
const watchEvery = 2 * time.Second

// Run runs pipelines until ctx is done, then stops all of them side by side. The error says what was wrong with the directory.
func (d *Daemon) Run(ctx context.Context) error {
	if _, err := os.ReadDir(d.set.Config.Pipelines); err != nil {
		return fmt.Errorf("pipelines directory: %w", err)
	}
	if err := os.MkdirAll(d.set.Config.State, 0o700); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	defer d.stopAll()
	var tick <-chan time.Time
	if d.set.Config.Watch {
		t := d.set.Clock.NewTicker(watchEvery)
		defer t.Stop()
		tick = t.C()
	}
	d.scan(ctx, true)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			d.scan(ctx, false)
		case <-d.reload:
			d.set.Log.Info("looking for changed pipelines")
			d.scan(ctx, true)
		}
	}
}

// scan makes what runs match the files. again tells mistakes again that were told before.
func (d *Daemon) scan(ctx context.Context, again bool) {
	files, err := filepath.Glob(filepath.Join(d.set.Config.Pipelines, "*.toml"))
	if err != nil {
		d.set.Log.Error("pipelines directory", "error", err)
		return
	}
	sort.Strings(files)
	d.mu.Lock()
	defer d.mu.Unlock()
	there := map[string]bool{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			continue // gone meanwhile
		}
		there[file] = true
		s := stamp{info.Size(), info.ModTime()}
		r := d.runners[file]
		if r != nil && r.stamp == s || !again && d.refused[file] == s {
			continue
		}
		p, plugins, err := d.set.Load(file)
		if err == nil {
			err = d.nameTaken(file, p.Name)
		}
		if err != nil {
			d.refused[file] = s
			d.refuse(file, err, r != nil)
			continue
		}
		delete(d.refused, file)
		if r != nil {
			d.set.Log.Info("pipeline has changed: it stops and goes on with the new file", "pipeline", r.name, "file", file)
			r.stop()
		}
		d.start(ctx, file, s, p, plugins)
	}
	for file, r := range d.runners {
		if !there[file] {
			d.set.Log.Info("pipeline's file is gone: it stops; its state stays", "pipeline", r.name, "file", file)
			r.stop()
			delete(d.runners, file)
		}
	}
	for file := range d.refused {
		if !there[file] {
			delete(d.refused, file)
		}
	}
}

func (d *Daemon) nameTaken(file, name string) error {
	for other, r := range d.runners {
		if other != file && r.name == name {
			return fmt.Errorf("the name %q is taken by %s; give one of them another name in [pipeline]", name, other)
		}
	}
	return nil
}

func (d *Daemon) refuse(file string, err error, running bool) {
	rest := "it does not run"
	if running {
		rest = "it goes on as it was"
	}
	var problems *problem.Errors
	if !errors.As(err, &problems) {
		d.set.Log.Error("pipeline refused: "+rest, "file", file, "error", err)
		return
	}
	for _, p := range problems.Problems {
		d.set.Log.Error("pipeline refused: "+rest, "file", file, "problem", p.Error())
	}
}

func (d *Daemon) start(ctx context.Context, file string, s stamp, p *plan.Plan, plugins pipeline.Plugins) {
	inner, cancel := context.WithCancel(ctx)
	log := d.set.Log.With("pipeline", p.Name)
	r := &runner{file: file, stamp: s, name: p.Name, cancel: cancel, done: make(chan struct{})}
	r.pipe = pipeline.New(p, pipeline.Settings{
		Clock: d.set.Clock, Plugins: plugins, StateDir: filepath.Join(d.set.Config.State, p.Name), Log: log, StopTimeout: d.set.Config.StopTimeout,
	})
	d.runners[file] = r
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

func (r *runner) stop() {
	r.cancel()
	<-r.done
}

// stopAll stops the pipelines side by side and waits for them.
func (d *Daemon) stopAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.runners {
		r.cancel()
	}
	for _, r := range d.runners {
		<-r.done
	}
}

// Status is what one pipeline is doing.
type Status struct {
	File    string           `json:"file"`
	Name    string           `json:"name"`
	State   pipeline.State   `json:"state"`
	Summary pipeline.Summary `json:"summary"`
}

// Status lists the pipelines by file.
func (d *Daemon) Status() []Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Status
	for _, r := range d.runners {
		out = append(out, Status{r.file, r.name, r.pipe.State(), r.pipe.Summary()})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].File < out[j].File })
	return out
}
