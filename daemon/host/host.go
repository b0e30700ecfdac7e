package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Settings is what a [Host] is made with. Zero values stand for the defaults.
type Settings struct {
	Shipped []sdk.Plugin // the plugins in the daemon's own binary
	Dirs    []string     // plugin directories; the first one that has a plugin counts

	// Policies are those of the daemon's file, for all pipelines; what a pipeline's file says goes first. Paths in them are relative to
	// PoliciesBase.
	Policies     []*config.PluginPolicy
	PoliciesBase string

	// Executable and ServeArgs start the daemon's binary so that it serves Shipped; default: os.Executable and "serve-plugins".
	Executable string
	ServeArgs  []string

	// GuardArgs start the same binary so that it calls [Guard]: it ends what plugins have started when the daemon is killed. nil: there is
	// no guard, and only the plugins themselves end then.
	GuardArgs []string

	// Majors are the versions of the protocol that plugins are spoken to in; default: all that package wire knows.
	Majors []wire.Major

	RuntimeDir string       // where the folder for sockets is made; default: the system's folder for temporary files
	Log        hclog.Logger // default: nothing is logged
	Clock      clock.Clock  // default: the system's

	StartTimeout   time.Duration // from start to ready; 10 s
	CallTimeout    time.Duration // for one answer of a plugin; 30 s, as the configuration's default
	HealthInterval time.Duration // between two health checks; 5 s
	HealthTimeout  time.Duration // for the answer to one; 10 s
}

// ServeCommand is the hidden verb under which the daemon's binary serves its shipped plugins.
const ServeCommand = "serve-plugins"

// Host finds plugins and runs them.
type Host struct {
	shipped    []sdk.Plugin
	dirs       []string
	policies   []*config.PluginPolicy // of the daemon; paths are absolute
	executable string
	serveArgs  []string
	log        hclog.Logger
	clock      clock.Clock
	dir        string // for sockets, 0700
	spawner    *spawner
	guard      *guard
	majors     []wire.Major // rising

	startTimeout, callTimeout, healthInterval, healthTimeout time.Duration

	mu        sync.Mutex
	processes map[*process]struct{}
	inner     []*innerInstance // shipped plugins inside the daemon
	described map[string]describedFile
	closed    bool
}

// innerInstance is a plugin inside the daemon, for its metrics.
type innerInstance struct {
	kind    sdk.Kind
	name    string
	place   wire.Place
	metrics *wire.Metrics
}

// New makes a Host and the folder for its sockets.
func New(s Settings) (*Host, error) {
	h := &Host{shipped: s.Shipped, dirs: s.Dirs, executable: s.Executable, serveArgs: s.ServeArgs, log: s.Log, clock: s.Clock,
		startTimeout: or(s.StartTimeout, 10*time.Second), callTimeout: or(s.CallTimeout, 30*time.Second),
		healthInterval: or(s.HealthInterval, 5*time.Second), healthTimeout: or(s.HealthTimeout, 10*time.Second),
		processes: map[*process]struct{}{}, described: map[string]describedFile{}}
	for _, p := range s.Policies {
		absolutely := *p
		if p.Path != "" {
			absolutely.Path = absolute(p.Path, s.PoliciesBase)
		}
		h.policies = append(h.policies, &absolutely)
	}
	if h.log == nil {
		h.log = hclog.NewNullLogger()
	}
	if h.clock == nil {
		h.clock = clock.System()
	}
	if h.executable == "" {
		path, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the daemon's own executable: %w", err)
		}
		h.executable = path
	}
	if h.serveArgs == nil {
		h.serveArgs = []string{ServeCommand}
	}
	var err error
	if h.dir, err = socketDir(s.RuntimeDir); err != nil {
		return nil, err
	}
	h.spawner = newSpawner()
	if h.majors = s.Majors; h.majors == nil {
		h.majors = wire.Majors()
	}
	h.guard = &guard{log: h.log}
	if s.GuardArgs != nil {
		h.guard.path, h.guard.args = h.executable, s.GuardArgs
	}
	return h, nil
}

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

const (
	socketDirPrefix = "tidemark-"
	// maxSocketDir leaves room, within the 104 to 108 bytes of a unix socket's path, for what go-plugin puts behind it.
	maxSocketDir = 52
)

// socketDir makes the folder for sockets, which only the daemon's user can enter, and removes those of daemons that were killed.
func socketDir(base string) (string, error) {
	if base == "" {
		base = os.TempDir()
	}
	if len(base)+len(socketDirPrefix)+18 > maxSocketDir {
		base = "/tmp"
	}
	removeLeftovers(base)
	dir, err := os.MkdirTemp(base, fmt.Sprintf("%s%d-", socketDirPrefix, os.Getpid()))
	if err != nil {
		return "", fmt.Errorf("make a folder for plugin sockets: %w", err)
	}
	return dir, nil
}

// removeLeftovers removes folders of processes that do not live any more.
func removeLeftovers(base string) {
	old, _ := filepath.Glob(filepath.Join(base, socketDirPrefix+"*"))
	for _, dir := range old {
		text, _, found := strings.Cut(strings.TrimPrefix(filepath.Base(dir), socketDirPrefix), "-")
		pid, err := strconv.Atoi(text)
		if found && err == nil && pid > 0 && !alive(pid) {
			_ = os.RemoveAll(dir) // another user's folder stays
		}
	}
}

var errClosed = errors.New("the plugin host is closed")

func (h *Host) register(p *process) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosed
	}
	h.processes[p] = struct{}{}
	return nil
}

func (h *Host) forget(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.processes, p)
}

// Close ends all processes and waits for them.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	var all []*process
	for p := range h.processes {
		all = append(all, p)
	}
	h.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(p.stop)
	}
	wg.Wait()
	h.spawner.close()
	h.guard.close()
	return os.RemoveAll(h.dir)
}

// Process is a running plugin process, as `status` shows it.
type Process struct {
	Kind  sdk.Kind
	Name  string
	Path  string
	Place wire.Place
	PID   int
	Since time.Time
}

// Processes lists the running processes, by pipeline, component, kind and name.
func (h *Host) Processes() []Process {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Process
	for p := range h.processes {
		if p.ready.Load() {
			out = append(out, Process{Kind: p.kind, Name: p.name, Path: p.path, Place: p.place, PID: int(p.runner.pid.Load()), Since: p.since})
		}
	}
	slices.SortFunc(out, func(a, b Process) int {
		return strings.Compare(a.Place.Pipeline+"\x00"+a.Place.Component+"\x00"+string(a.Kind)+a.Name, b.Place.Pipeline+"\x00"+b.Place.Component+"\x00"+string(b.Kind)+b.Name)
	})
	return out
}
