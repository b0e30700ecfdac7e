package config

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Daemon is the daemon's own file. Paths are made absolute, or relative to where the program runs, from where the file stands.
type Daemon struct {
	File        string
	Pipelines   string
	State       string
	PluginDirs  []string
	Memory      int64 // bytes; 0 = as GOMEMLIMIT says
	Cache       int64 // bytes
	Watch       bool
	StopTimeout time.Duration
	Admin       Admin
	Log         Log
	Plugins     []*PluginPolicy
}

// Admin is [admin].
type Admin struct {
	Socket   string // path of the Unix socket; "" = none
	Address  string // host:port; "" = none
	Token    string // a secret
	Insecure bool   // Address may be reached from elsewhere without a token
	PProf    bool
}

// Log is [log].
type Log struct {
	Level  string // debug, info, warn or error
	Format string // text or json
}

// LoadDaemon reads the daemon's file.
func LoadDaemon(path string) (*Daemon, problem.List) {
	var l problem.List
	data, ok := readFile(path, &l)
	if !ok {
		return nil, l
	}
	return ParseDaemon(path, data, os.LookupEnv)
}

// ParseDaemon is LoadDaemon for a content that was read elsewhere. An empty content gives the defaults.
func ParseDaemon(file string, data []byte, env Env) (*Daemon, problem.List) {
	var l problem.List
	r, ok := open(file, data, env, DaemonKeys(), SectionDaemon, &l)
	if !ok {
		return nil, l
	}
	dir := filepath.Dir(file)
	path := func(p string) string {
		if p == "" || filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(dir, p)
	}
	d := &Daemon{
		File: file, Pipelines: path(r.str("pipelines")), State: path(r.str("state")), Memory: r.size("memory"), Cache: r.size("cache"),
		Watch: r.boolean("watch"), StopTimeout: r.duration("stop_timeout"),
	}
	for _, v := range r.strings("plugin_dirs") {
		d.PluginDirs = append(d.PluginDirs, path(v.Str))
	}
	a := r.sub("admin", SectionAdmin)
	if a == nil {
		a = r.of(nil, SectionAdmin)
	}
	d.Admin = Admin{Socket: a.str("socket"), Address: a.str("address"), Token: a.str("token"), Insecure: a.boolean("insecure"), PProf: a.boolean("pprof")}
	d.Admin.check(a)
	if s := d.Admin.Socket; s != "" && !filepath.IsAbs(s) {
		d.Admin.Socket = filepath.Join(d.State, s)
	}
	a.done()
	g := r.sub("log", SectionLog)
	if g == nil {
		g = r.of(nil, SectionLog)
	}
	d.Log = Log{Level: g.str("level"), Format: g.str("format")}
	g.done()
	d.Plugins = readPlugins(r)
	r.done()
	return d, l
}

func (a Admin) check(r *reader) {
	if a.Address == "" {
		return
	}
	v := r.table.Get("address")
	if v == nil {
		return
	}
	host, port, err := net.SplitHostPort(a.Address)
	if err != nil || port == "" {
		r.report("TM2192", v.At, `write host:port, as in "127.0.0.1:9464"`, "address %s is no host and port", quote(a.Address))
		return
	}
	if n, err := strconv.ParseUint(port, 10, 64); err == nil && n > 65535 {
		r.report("TM2192", v.At, "ports are 1 to 65535; 0 lets the system choose one", "address %s has a port that cannot be", quote(a.Address))
		return
	}
	if ip := net.ParseIP(host); (ip == nil || !ip.IsLoopback()) && host != "localhost" && a.Token == "" && !a.Insecure {
		r.report("TM2193", v.At, `add token = "${TIDEMARK_TOKEN}", or serve on 127.0.0.1; insecure = true lets everybody read who can reach it`, "address %s can be reached from other machines, and there is no token", quote(a.Address))
	}
}
