package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/heap"
	"github.com/tidemark-stream/tidemark/daemon"
	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/notify"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/plugins"
)

func (a *app) daemonCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "daemon --config FILE",
		Short: "Run all pipelines of a directory, each on its own",
		Long: `Run all pipelines of a directory, each on its own: one that fails starts again from its last commit, and the others do not notice.

SIGTERM and SIGINT commit what was read and stop; SIGHUP takes over changed files. A file with a mistake is reported and left out.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.daemon(cmd.Context(), file) },
	}
	cmd.Flags().StringVarP(&file, "config", "c", "etc/tidemark.toml", "the daemon's own file")
	return cmd
}

func (a *app) daemon(ctx context.Context, file string) error {
	cfg, problems := config.LoadDaemon(file)
	if err := problems.Err(); err != nil {
		return err
	}
	a.warnings(problems.All())
	defer heap.Keep(cfg.Memory)()
	log := logger(a.stderr, cfg.Log.Level, cfg.Log.Format == "json")
	a.pluginDirs = append(a.pluginDirs, cfg.PluginDirs...)
	h, err := host.New(host.Settings{Shipped: plugins.All(), Dirs: a.pluginDirs, Policies: cfg.Plugins, PoliciesBase: filepath.Dir(file), GuardArgs: []string{host.GuardCommand}, Log: log})
	if err != nil {
		return &exitError{code: exitEnvironment, err: err}
	}
	defer h.Close()
	manager, err := notify.New(clock.System(), os.Getenv)
	if err != nil {
		log.Warn("the service manager is not told how the daemon does", "error", err)
	}
	defer manager.Close()
	d := daemon.New(daemon.Settings{Config: cfg, Host: h, Clock: clock.System(), Log: log, Version: readBuildInfo().Version, Manager: manager,
		Load: func(file string) (*plan.Plan, pipeline.Plugins, error) {
			p, view, warnings, err := loadPlan(h, file)
			for _, w := range warnings {
				if w.Severity == problem.Warning {
					log.Warn("pipeline file", "file", file, "problem", w.Error())
				}
			}
			if err != nil {
				return nil, nil, err
			}
			return p, view, nil
		}})
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-hup:
				d.Reload()
			case <-done:
				return
			}
		}
	}()
	log.Info("daemon starts", "pipelines", cfg.Pipelines, "state", cfg.State)
	err = a.inTime(ctx, cfg.StopTimeout, func() error { return d.Run(ctx) })
	if errors.Is(err, errOverdue) {
		return err
	}
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w; make it, or name another one in %s", err, file)
		}
		return &exitError{code: exitEnvironment, err: err}
	}
	log.Info("daemon has stopped")
	return nil
}
