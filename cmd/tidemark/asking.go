package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/config"
)

// asking is whom a verb asks: flags of all verbs that need a running daemon.
type asking struct {
	state, config, address string
}

// places are where the daemon's file is looked for when no flag says.
var places = []string{"etc/tidemark.toml", "/etc/tidemark/tidemark.toml"}

// tokenVariable is the environment variable with the secret that --address needs.
const tokenVariable = "TIDEMARK_TOKEN"

func (t *asking) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.state, "state", "", "ask the daemon whose state directory this is")
	f.StringVarP(&t.config, "config", "c", "", "ask the daemon that runs with this file (default: "+places[0]+", then "+places[1]+")")
	f.StringVar(&t.address, "address", "", "ask the daemon at HOST:PORT, with the token in $"+tokenVariable)
}

// client finds the daemon; nothing is sent yet.
func (t *asking) client() (*api.Client, error) {
	var given []string
	for _, f := range []struct{ name, value string }{{"--state", t.state}, {"--config", t.config}, {"--address", t.address}} {
		if f.value != "" {
			given = append(given, f.name)
		}
	}
	switch {
	case len(given) > 1:
		return nil, &exitError{code: exitConfig, err: fmt.Errorf("%s each say which daemon is meant; give one of them", strings.Join(given, " and "))}
	case t.address != "":
		return api.OfAddress(t.address, os.Getenv(tokenVariable)), nil
	case t.state != "":
		if err := notAFile(t.state); err != nil {
			return nil, err
		}
		return api.OfState(t.state), nil
	}
	file := t.config
	for _, place := range places {
		if _, err := os.Stat(place); file == "" && err == nil {
			file = place
		}
	}
	if file == "" {
		return nil, &exitError{code: exitConfig, err: fmt.Errorf("there is no %s and no %s; say with --config, --state or --address which daemon is meant", places[0], places[1])}
	}
	cfg, problems := config.LoadDaemon(file)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	switch {
	case cfg.Admin.Socket != "":
		return api.OfSocket(cfg.Admin.Socket), nil
	case cfg.Admin.Address != "":
		return api.OfAddress(cfg.Admin.Address, cfg.Admin.Token), nil
	}
	return nil, &exitError{code: exitConfig, err: fmt.Errorf("%s has the daemon serve nothing: [admin] socket and address are both empty", file)}
}

// ask calls f with a client.
func (t *asking) ask(f func(c *api.Client) error) error {
	c, err := t.client()
	if err != nil {
		return err
	}
	defer c.Close()
	return asked(f(c))
}

// asked gives what a daemon has answered its exit code.
func asked(err error) error {
	var told *api.Error
	var exit *exitError
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.Is(err, api.ErrNobody):
		return &exitError{code: exitEnvironment, err: fmt.Errorf("%w; start it with `tidemark daemon` or `tidemark run --state`, or say with --config, --state or --address which one is meant", err)}
	case errors.As(err, &told) && (told.Kind == api.NotFound || told.Kind == api.BadInput):
		return &exitError{code: exitConfig, err: err}
	case errors.Is(err, os.ErrPermission):
		return &exitError{code: exitEnvironment, err: fmt.Errorf("%w; only the daemon's own user, and root, can ask it there", err)}
	}
	return &exitError{code: exitFailed, err: err}
}

// askHolder asks the daemon that has a state directory for something of one of its pipelines. held says that there is such a daemon and that it
// has the pipeline's state open; otherwise the directory can be opened.
func askHolder(ctx context.Context, dir string, f func(ctx context.Context, c *api.Client) error) (held bool, err error) {
	c := api.OfState(dir)
	defer c.Close()
	err = f(ctx, c)
	var told *api.Error
	if errors.Is(err, api.ErrNobody) || errors.As(err, &told) && (told.Kind == api.NotFound || told.Kind == api.NotOpen) {
		return false, nil
	}
	return true, asked(err)
}
