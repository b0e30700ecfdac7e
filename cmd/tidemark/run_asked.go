package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/tidemark-stream/tidemark/daemon/admin"
	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

// foreground makes `run` somebody who can be asked, as the daemon is.
type foreground []admin.Pipeline

var _ admin.Daemon = foreground(nil)

func (f foreground) Pipelines() ([]admin.Pipeline, []api.Refused) { return f, nil }

func (f foreground) Starting() string { return "" }

// Order refuses: whoever has started the program holds it.
func (f foreground) Order(context.Context, string, string) error {
	return &api.Error{Kind: api.Failed, Message: "the pipeline runs in the foreground (`tidemark run`): interrupt the program to stop it, and start it again to go on"}
}

// serve answers questions through the socket in the state directory until the returned function is called. A run that cannot be asked runs all
// the same; so does a second one on the same directory, which has other pipelines.
func (f foreground) serve(dir string, h *host.Host, log hclog.Logger) (stop func()) {
	s, err := admin.Listen(admin.Settings{
		Daemon: f, Clock: clock.System(), Log: log.Named("admin"), Version: readBuildInfo().Version,
		Socket: filepath.Join(dir, api.SocketName), Processes: h.Processes, Metrics: h.Metrics,
	})
	if errors.Is(err, admin.ErrServed) {
		log.Debug("another process answers questions about this state directory", "error", err)
		return func() {}
	}
	if err != nil {
		log.Info("the pipelines cannot be asked how they do", "error", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { s.Run(ctx) })
	return func() {
		cancel()
		wait.Wait()
	}
}

// askable are the pipelines of a run with their files.
func askable(files []string, pipelines []*pipeline.Pipeline) (f foreground) {
	for i, p := range pipelines {
		f = append(f, admin.Pipeline{File: files[i], Pipeline: p})
	}
	return f
}
