package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

func (c *Config) readOperation(root *reader) {
	table := func(name string, section Section) *reader {
		if r := root.sub(name, section); r != nil {
			return r
		}
		return root.of(nil, section)
	}
	r := table("checkpoint", SectionCheckpoint)
	c.Checkpoint = Checkpoint{Interval: r.duration("interval"), MinInterval: r.duration("min_interval"), Timeout: r.duration("timeout")}
	r.ordered("min_interval", &c.Checkpoint.MinInterval, "interval", &c.Checkpoint.Interval)
	r.done()
	r = table("state", SectionState)
	c.State = State{Memory: r.size("memory"), Cache: r.size("cache"), Outbox: r.size("outbox")}
	if v := r.table.Get("memory"); v != nil {
		c.State.MemoryAt = &v.At
	}
	r.done()
	r = table("dead_letters", SectionDeadLetters)
	c.DeadLetters = DeadLetters{MaxSize: r.size("max_size"), MaxAge: r.duration("max_age")}
	r.done()
	r = table("restart", SectionRestart)
	c.Restart = Restart{Backoff: r.duration("backoff"), MaxBackoff: r.duration("max_backoff"), MaxAttempts: clampInt(r.integer("max_attempts")), MaxCrashes: clampInt(r.integer("max_crashes")), ResetAfter: r.duration("reset_after")}
	r.ordered("backoff", &c.Restart.Backoff, "max_backoff", &c.Restart.MaxBackoff)
	r.done()
}

// ordered sees to it that the first of two durations is not the longer one. A default gives way to what the file says; when the file says both, it is
// a mistake.
func (r *reader) ordered(lower string, low *time.Duration, upper string, high *time.Duration) {
	switch {
	case *low <= *high:
	case r.has(lower) && r.has(upper):
		r.report("TM2102", r.table.Get(upper).At, fmt.Sprintf("%s is %s", lower, FormatDuration(*low)), "%s is %s, shorter than %s", upper, FormatDuration(*high), lower)
	case r.has(lower):
		*high = *low
	default:
		*low = *high
	}
}

var pluginKinds = []string{"source", "assigner", "transform", "aggregate", "window", "sink"}

// readPlugins reads [plugins.KIND-NAME].
func readPlugins(root *reader) []*PluginPolicy {
	var out []*PluginPolicy
	root.each("plugins", func(key string, v *Value, r *reader) {
		kind, name, ok := strings.Cut(key, "-")
		if !ok || name == "" || !contains(pluginKinds, kind) {
			r.report("TM1010", v.KeyAt, "name the plugin by its kind (source, assigner, transform, aggregate, window, sink) and name, as in [plugins.assigner-mine]", "%q names no plugin", key)
			return
		}
		r = r.of(v.Table, SectionPlugin)
		p := &PluginPolicy{Kind: kind, Name: name, Path: r.str("path"), MTLS: r.boolean("mtls"), StartTimeout: r.duration("start_timeout"),
			CallTimeout: r.duration("call_timeout"), User: r.str("user"), At: v.KeyAt, Spots: nil}
		for _, d := range r.strings("sha256") {
			sum := strings.ToLower(d.Str)
			if len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
				r.report("TM2191", d.At, "it has 64 hexadecimal digits; `tidemark plugins verify` prints it", "%q is no SHA-256 digest", d.Str)
				continue
			}
			p.SHA256 = append(p.SHA256, sum)
		}
		for _, a := range r.strings("args") {
			p.Args = append(p.Args, a.Str)
		}
		for _, e := range r.texts("env") {
			if p.Env == nil {
				p.Env = map[string]string{}
			}
			if !isEnvName(e.Name) {
				r.report("TM2142", e.Value.KeyAt, "", "%q is no name of an environment variable", e.Name)
				continue
			}
			p.Env[e.Name] = e.Text
		}
		if l := r.sub("limits", SectionLimits); l != nil {
			p.Memory, p.Files, p.Processes = l.size("memory"), clampInt(l.integer("files")), clampInt(l.integer("processes"))
			l.done()
		}
		r.done()
		for _, k := range v.Table.Keys {
			if p.Spots == nil {
				p.Spots = make(map[string]problem.Place, v.Table.Len())
			}
			p.Spots[k] = v.Table.Get(k).At
		}
		out = append(out, p)
	})
	return out
}
