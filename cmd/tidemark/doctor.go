package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/plugins"
	"github.com/tidemark-stream/tidemark/state"
)

func (a *app) doctorCommand() *cobra.Command {
	var file string
	var all bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check an installation: configuration, plugins, state, limits",
		Long: `Check an installation: the daemon's file and all pipelines, plugins and who may change them, the state directory and the room on its disk, the
admin addresses, and the limits of the system. A daemon that runs is asked how it does, and left alone otherwise.

What should be mended is told, a line each that says warn or fail, and how many other things are in order; --all names these, too. The exit code is 2 when something in the configuration fails, else 3 when something else does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), file, all) },
	}
	cmd.Flags().StringVarP(&file, "config", "c", places[0], "the daemon's own file")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "name also what is in order")
	return cmd
}

// finding is what the doctor says about one thing.
type finding struct {
	Verdict string `json:"verdict"` // ok, warn or fail
	About   string `json:"about"`
	Says    string `json:"says"`
	code    int    // of a failure
}

// doctor gathers findings.
type doctor struct {
	app  *app
	cfg  *config.Daemon
	all  []finding
	asks *api.Status // of the daemon that runs, else nil
}

func (d *doctor) ok(about, format string, args ...any) { d.say("ok", 0, about, format, args...) }
func (d *doctor) warn(about, format string, args ...any) {
	d.say("warn", 0, about, format, args...)
}
func (d *doctor) fail(code int, about, format string, args ...any) {
	d.say("fail", code, about, format, args...)
}

func (d *doctor) say(verdict string, code int, about, format string, args ...any) {
	d.all = append(d.all, finding{verdict, about, fmt.Sprintf(format, args...), code})
}

func (a *app) doctor(ctx context.Context, file string, all bool) error {
	d := &doctor{app: a}
	cfg, problems := config.LoadDaemon(file)
	for _, p := range problems.All() {
		d.say(map[bool]string{true: "fail", false: "warn"}[p.Severity.String() == "error"], exitConfig, "configuration", "%s", p.Error())
	}
	if cfg != nil && !problems.HasErrors() {
		d.cfg = cfg
		d.ok("configuration", "%s", file)
		d.daemon(ctx)
		d.pipelines(ctx)
		d.state()
		d.addresses()
		d.limits()
	}
	return a.verdict(d.all, all)
}

// verdict prints the findings, those that are in order only if they are asked for, and ends with the worst.
func (a *app) verdict(all []finding, named bool) error {
	failed := map[int]int{}
	fine := 0
	for _, f := range all {
		switch f.Verdict {
		case "fail":
			failed[f.code]++
		case "ok":
			fine++
		}
	}
	if a.json {
		a.print(all)
	} else {
		w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
		for _, f := range all {
			if named || f.Verdict != "ok" {
				fmt.Fprintf(w, "%s\t%s\t%s\n", f.Verdict, f.About, f.Says)
			}
		}
		_ = w.Flush()
		if !named {
			fmt.Fprintf(a.stdout, "%s in order; --all names them\n", counted(fine, "thing is", "things are"))
		}
	}
	for _, code := range []int{exitConfig, exitEnvironment} {
		if failed[code] > 0 {
			return &exitError{code: code, err: errors.New("the installation has faults"), silent: true}
		}
	}
	return nil
}

// daemon asks the one that runs, if there is one.
func (d *doctor) daemon(ctx context.Context) {
	t := asking{config: d.cfg.File}
	c, err := t.client()
	if err != nil {
		d.warn("daemon", "%v", err)
		return
	}
	defer c.Close()
	s, err := c.Status(ctx)
	switch {
	case errors.Is(err, api.ErrNobody):
		d.ok("daemon", "none runs")
	case err != nil:
		d.warn("daemon", "%v", err)
	default:
		d.asks = s
		d.ok("daemon", "process %d answers at %s", s.PID, c.Where())
		for _, p := range s.Pipelines {
			for _, why := range p.NotReady {
				d.fail(exitEnvironment, "pipeline "+p.Name, "%s", why)
			}
		}
	}
}

// pipelines reads all pipelines' files, with plugins as the daemon finds them.
func (d *doctor) pipelines(ctx context.Context) {
	for _, dir := range d.cfg.PluginDirs {
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			d.fail(exitEnvironment, "plugins", "plugin directory: %v", err)
		case !info.IsDir():
			d.fail(exitEnvironment, "plugins", "plugin directory: %s is a file", dir)
		case info.Mode().Perm()&0o002 != 0:
			d.warn("plugins", "everybody may write to %s, and so have the daemon run anything; chmod o-w it", dir)
		}
	}
	h, err := host.New(host.Settings{Shipped: plugins.All(), Dirs: append(d.app.pluginDirs, d.cfg.PluginDirs...), Policies: d.cfg.Plugins, PoliciesBase: filepath.Dir(d.cfg.File), Log: hclog.NewNullLogger()})
	if err != nil {
		d.fail(exitEnvironment, "plugins", "%v", err)
		return
	}
	defer h.Close()
	own := 0
	for _, e := range h.Plugins(nil, filepath.Dir(d.cfg.File)).List(ctx) {
		if !e.Shipped {
			own++
		}
		if e.Warning != "" {
			d.warn("plugins", "%s %s, %s: %s", e.Kind, e.Name, e.Origin(), e.Warning)
		}
	}
	d.ok("plugins", "%d of your own beside the shipped ones", own)
	files, err := filepath.Glob(filepath.Join(d.cfg.Pipelines, "*.toml"))
	if err == nil {
		_, err = os.ReadDir(d.cfg.Pipelines)
	}
	if err != nil {
		d.fail(exitEnvironment, "pipelines", "%v", err)
		return
	}
	if len(files) == 0 {
		d.warn("pipelines", "there is no *.toml in %s", d.cfg.Pipelines)
	}
	names := map[string]string{}
	for _, file := range files {
		p, _, warnings, err := loadPlan(h, file)
		if err != nil {
			d.fail(exitConfig, "pipelines", "%v", err)
			continue
		}
		if other := names[p.Name]; other != "" {
			d.fail(exitConfig, "pipelines", "%s and %s are both named %q", other, file, p.Name)
		}
		names[p.Name] = file
		d.ok("pipelines", "%s: %s", file, p.Name)
		for _, w := range warnings {
			d.warn("pipelines", "%s", w.Error())
		}
	}
}

// scarce is how little room on the disk is worth a word.
const scarce = 1 << 30

// state looks at the state directory, and, where no daemon has them, into the states in it.
func (d *doctor) state() {
	dir := d.cfg.State
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		// It is made at the start; what has to be there is a parent that allows it.
		for parent := filepath.Dir(dir); err != nil; parent = filepath.Dir(parent) {
			info, err = os.Stat(parent)
			dir = parent
		}
		d.ok("state", "%s does not exist yet", d.cfg.State)
	}
	if err != nil {
		d.fail(exitEnvironment, "state", "%v", err)
		return
	}
	if !info.IsDir() {
		d.fail(exitEnvironment, "state", "%s is a file", dir)
		return
	}
	probe, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		d.fail(exitEnvironment, "state", "nothing can be written here: %v", err)
	} else {
		err = errors.Join(probe.Sync(), probe.Close(), os.Remove(probe.Name()))
		if err != nil {
			d.fail(exitEnvironment, "state", "%v", err)
		}
	}
	if dir == d.cfg.State && info.Mode().Perm()&0o077 != 0 {
		d.warn("state", "others may look into %s (mode %o); chmod 700 it", dir, info.Mode().Perm())
	}
	if usage, err := vfs.Default.GetDiskUsage(dir); err == nil {
		say := d.ok
		if usage.AvailBytes < scarce {
			say = d.warn
		}
		say("state", "%s: %d MiB free", dir, usage.AvailBytes>>20)
	}
	if d.asks == nil && dir == d.cfg.State {
		d.states(dir)
	}
}

// states opens what is in the state directory, for reading.
func (d *doctor) states(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		d.fail(exitEnvironment, "state", "%v", err)
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name(), pipeline.StateFolder)
		if _, err := os.Stat(path); !e.IsDir() || err != nil {
			continue
		}
		s, err := state.Open(path, state.Options{ReadOnly: true})
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			d.fail(exitEnvironment, "state of "+e.Name(), "%v", err)
		} else {
			d.ok("state of "+e.Name(), "can be opened")
		}
	}
}

// addresses tries whether the daemon could serve, if none does.
func (d *doctor) addresses() {
	a := d.cfg.Admin
	if a.Address != "" && d.asks == nil {
		l, err := net.Listen("tcp", a.Address)
		if err != nil {
			d.fail(exitEnvironment, "admin", "%v; free the port, or set [admin] address to another one", err)
		} else {
			_ = l.Close()
			d.ok("admin", "%s is free", a.Address)
		}
	}
	if a.Insecure && a.Token == "" {
		d.warn("admin", "insecure = true: everybody who reaches %s can read names, numbers, keys and positions", a.Address)
	}
	if a.Socket == "" {
		d.warn("admin", "there is no socket, so no verb finds the daemon by its state directory")
	}
}
