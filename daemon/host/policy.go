package host

import (
	"maps"
	"slices"

	"github.com/tidemark-stream/tidemark/daemon/config"
)

// layered completes a pipeline's policies with those of the daemon, key by key: what the pipeline's file says goes first, and what it does not
// speak of stays as the daemon's file has it. So a pipeline that gives a plugin arguments does not lose the daemon's pin of it.
func layered(own, daemons []*config.PluginPolicy) []*config.PluginPolicy {
	if len(daemons) == 0 {
		return own
	}
	out := slices.Clone(own)
	for _, d := range daemons {
		i := slices.IndexFunc(out, func(p *config.PluginPolicy) bool { return p.Kind == d.Kind && p.Name == d.Name })
		if i < 0 {
			out = append(out, d)
			continue
		}
		out[i] = over(out[i], d)
	}
	return out
}

// over lays one policy over another one.
func over(top, below *config.PluginPolicy) *config.PluginPolicy {
	p := *top
	p.Spots = maps.Clone(top.Spots)
	take := func(key string, unset bool, copy func()) {
		// Durations have a default in every table, so that only the place of a key tells whether it was written.
		if _, written := top.Spots[key]; written || top.Spots == nil && !unset {
			return
		}
		copy()
		if at, ok := below.Spots[key]; ok {
			if p.Spots == nil {
				p.Spots = maps.Clone(below.Spots)
			}
			p.Spots[key] = at
		}
	}
	take("sha256", p.SHA256 == nil, func() { p.SHA256 = below.SHA256 })
	take("path", p.Path == "", func() { p.Path = below.Path })
	take("args", p.Args == nil, func() { p.Args = below.Args })
	take("env", p.Env == nil, func() { p.Env = below.Env })
	take("mtls", !p.MTLS, func() { p.MTLS = below.MTLS })
	take("start_timeout", p.StartTimeout == 0, func() { p.StartTimeout = below.StartTimeout })
	take("call_timeout", p.CallTimeout == 0, func() { p.CallTimeout = below.CallTimeout })
	take("user", p.User == "", func() { p.User = below.User })
	take("limits", p.Memory == 0 && p.Files == 0 && p.Processes == 0, func() { p.Memory, p.Files, p.Processes = below.Memory, below.Files, below.Processes })
	return &p
}
