package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/notify"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Settings is what a Daemon is made with.
type Settings struct {
	Config  *config.Daemon
	Host    *host.Host
	Clock   clock.Clock
	Log     hclog.Logger
	Version string
	Manager *notify.Manager // who is told when it is ready, and that it lives; nil: nobody
	// Load reads a pipeline's file and makes its plan; an error that is a *problem.Errors tells mistakes of the file.
	Load func(file string) (*plan.Plan, pipeline.Plugins, error)
}

// Daemon runs all pipelines of a directory. Use New, then Run once; the other methods may be called at any time.
type Daemon struct {
	set    Settings
	reload chan struct{}
	asked  chan chan<- struct{} // is the main loop at work?

	// work is held by whoever starts and stops pipelines: the main loop, and orders from outside. What it guards beside that is only read under mu.
	work sync.Mutex

	mu      sync.Mutex
	life    context.Context    // of the pipelines; nil before Run
	runners map[string]*runner // by file
	refused map[string]refusal // files with mistakes, told once for each version
	scanned bool               // the directory was looked at once
	busy    time.Time          // until then the main loop may be waiting for something that has a limit of its own
}

// refusal is why a file cannot be used.
type refusal struct {
	stamp stamp
	why   string
}

// New makes a daemon that runs nothing yet.
func New(set Settings) *Daemon {
	return &Daemon{set: set, reload: make(chan struct{}, 1), asked: make(chan chan<- struct{}), runners: map[string]*runner{}, refused: map[string]refusal{}}
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

// Run runs pipelines until ctx is done, then stops all of them side by side. The error says what was wrong with the directory, or with an
// address to serve on.
func (d *Daemon) Run(ctx context.Context) error {
	if _, err := os.ReadDir(d.set.Config.Pipelines); err != nil {
		return fmt.Errorf("pipelines directory: %w", err)
	}
	if err := os.MkdirAll(d.set.Config.State, 0o700); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	server, err := d.listen()
	if err != nil {
		return err
	}
	// What serves and what watches outlives the pipelines: a stop can be asked about, too.
	outer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var around sync.WaitGroup
	defer around.Wait()
	defer cancel()
	around.Go(func() { server.Run(outer) })
	around.Go(func() { d.tellManager(ctx, outer) })

	d.mu.Lock()
	d.life = ctx
	d.mu.Unlock()
	defer d.stopAll()
	var tick <-chan time.Time
	if d.set.Config.Watch {
		t := d.set.Clock.NewTicker(watchEvery)
		defer t.Stop()
		tick = t.C()
	}
	d.scan(ctx, true)
	d.mu.Lock()
	d.scanned = true
	d.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			d.scan(ctx, false)
		case <-d.reload:
			d.set.Log.Info("looking for changed pipelines")
			d.scan(ctx, true)
		case answer := <-d.asked:
			answer <- struct{}{}
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
	d.work.Lock()
	defer d.work.Unlock()
	there := map[string]bool{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			continue // gone meanwhile
		}
		there[file] = true
		s := stamp{info.Size(), info.ModTime()}
		r, old := d.of(file)
		if r != nil && (r.stamp == s || r.held.Load()) || !again && old.stamp == s {
			continue
		}
		p, plugins, err := d.load(file, s, r != nil)
		if err != nil {
			continue
		}
		if r != nil {
			d.set.Log.Info("pipeline has changed: it stops and goes on with the new file", "pipeline", r.name, "file", file)
			d.stop(r)
		}
		d.start(ctx, file, s, p, plugins)
	}
	for file, r := range d.all() {
		if !there[file] {
			d.set.Log.Info("pipeline's file is gone: it stops; its state stays", "pipeline", r.name, "file", file)
			d.stop(r)
			d.mu.Lock()
			delete(d.runners, file)
			d.mu.Unlock()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for file := range d.refused {
		if !there[file] {
			delete(d.refused, file)
		}
	}
}

// of is what is known of a file.
func (d *Daemon) of(file string) (*runner, refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runners[file], d.refused[file]
}

// all are the runners by file.
func (d *Daemon) all() map[string]*runner {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.runners)
}

// loadLimit is how long reading a pipeline's file may take at the most: plugins are started to be asked for their options.
const loadLimit = time.Minute

// load reads a file; mistakes in it are told and kept. d.work is held.
func (d *Daemon) load(file string, s stamp, running bool) (*plan.Plan, pipeline.Plugins, error) {
	d.waits(loadLimit)
	defer d.waits(0)
	p, plugins, err := d.set.Load(file)
	if err == nil {
		err = d.nameTaken(file, p.Name)
	}
	d.mu.Lock()
	if err != nil {
		d.refused[file] = refusal{s, firstLine(err)}
	} else {
		delete(d.refused, file)
	}
	d.mu.Unlock()
	if err != nil {
		d.refuse(file, err, running)
	}
	return p, plugins, err
}

// firstLine is what an error says at first, and how much more there is.
func firstLine(err error) string {
	var problems *problem.Errors
	text, more := err.Error(), 0
	if errors.As(err, &problems) {
		for i, p := range problems.Problems {
			if p.Severity == problem.Error {
				text, more = p.Error(), len(problems.Problems)-i-1
				break
			}
		}
	}
	text, _, _ = strings.Cut(text, "\n")
	if more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

func (d *Daemon) nameTaken(file, name string) error {
	for other, r := range d.all() {
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
	mistakes := 0
	for _, p := range problems.Problems {
		if p.Severity == problem.Error {
			mistakes++
		}
	}
	d.set.Log.Error("pipeline refused: "+rest, "file", file, "mistakes", mistakes, "shown_by", "tidemark check "+file)
	for _, p := range problems.Problems { // a line each, so that each can be found
		log := d.set.Log.Error
		if p.Severity != problem.Error {
			log = d.set.Log.Warn
		}
		log("in a refused pipeline's file", "at", p.Place.String(), "code", p.Code, "problem", p.Summary, "remedy", strings.ReplaceAll(p.Hint, "\n", "; "))
	}
}
