package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/plugins"
	"github.com/tidemark-stream/tidemark/sdk"
)

// servePlugin serves the shipped plugins, or guards plugins, when the daemon has started this binary for that.
func servePlugin() bool {
	if len(os.Args) == 2 && os.Args[1] == host.GuardCommand {
		host.Guard(os.Stdin)
		return true
	}
	if len(os.Args) < 2 || os.Args[1] != host.ServeCommand {
		return false
	}
	sdk.Serve(plugins.All()...)
	return true
}

// logger writes to stderr what the daemon and its plugins have to say.
func logger(w io.Writer, level string, json bool) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "tidemark", Level: hclog.LevelFromString(level), Output: w, JSONFormat: json, TimeFormat: "2006-01-02T15:04:05.000Z07:00"})
}

// host makes the plugin host of a run.
func (a *app) host(log hclog.Logger) (*host.Host, error) {
	for _, dir := range a.pluginDirs {
		if info, err := os.Stat(dir); err != nil {
			return nil, &exitError{code: exitEnvironment, err: fmt.Errorf("plugin directory: %w", err)}
		} else if !info.IsDir() {
			return nil, &exitError{code: exitEnvironment, err: fmt.Errorf("plugin directory: %s is a file", dir)}
		}
	}
	h, err := host.New(host.Settings{Shipped: plugins.All(), Dirs: a.pluginDirs, GuardArgs: []string{host.GuardCommand}, Log: log})
	if err != nil {
		return nil, &exitError{code: exitEnvironment, err: err}
	}
	return h, nil
}

// catalog fits the host's view into what plans ask for.
type catalog struct{ *host.Plugins }

func (c catalog) Describe(kind sdk.Kind, name string) (plan.Found, error) {
	f, err := c.Plugins.Describe(kind, name)
	if errors.Is(err, host.ErrNotFound) {
		err = plan.ErrNotFound
	}
	return plan.Found(f), err
}

// load reads a pipeline's file and makes its plan. Warnings are told at once.
func (a *app) load(h *host.Host, file string) (*plan.Plan, *host.Plugins, error) {
	p, view, warnings, err := loadPlan(h, file)
	if err == nil {
		a.warnings(warnings)
	}
	return p, view, err
}

// loadPlan returns the warnings beside the plan, or an error that holds all problems.
func loadPlan(h *host.Host, file string) (*plan.Plan, *host.Plugins, []problem.Problem, error) {
	cfg, problems := config.Load(file)
	if cfg == nil {
		return nil, nil, nil, problems.Err()
	}
	view := h.Plugins(cfg.Plugins, filepath.Dir(file))
	p, more := plan.Build(cfg, catalog{view})
	problems.Append(more)
	if err := problems.Err(); err != nil {
		return nil, nil, nil, err
	}
	return p, view, problems.All(), nil
}

// warnings are told on stderr, whatever the output is.
func (a *app) warnings(all []problem.Problem) {
	for _, p := range all {
		fmt.Fprintln(a.stderr, p.Error())
	}
}
