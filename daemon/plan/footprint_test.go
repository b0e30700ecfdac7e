package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFootprint edits a working file and looks at what the state of its components depends on afterwards.
func TestFootprint(t *testing.T) {
	settings := func(p *Plan) map[string]string {
		out := map[string]string{}
		for _, part := range p.Footprint().Components {
			out[part.Kind+" "+part.Name] = ""
			for k, v := range part.Rigid {
				out[part.Kind+" "+part.Name+" "+k] = v
			}
		}
		return out
	}
	plan, problems := build(t, "f.toml", working)
	require.Empty(t, problems)
	before := settings(plan)
	require.Equal(t, map[string]string{
		"source clicks": "", "source clicks plugin": "socket",
		"window per_user": "", "window per_user key_by": "user", "window per_user window": "tumbling windows of 10s, by event time",
		"window per_user trigger": "", "window per_user mode": "", "window per_user meta": "false",
		"window per_user aggregate": "events = count()", "window per_user kept_as": "panes",
		"sink out": "", "sink out plugin": "stdout",
	}, before)

	const window = `window    = { type = "tumbling", size = "10s" }`
	for what, c := range map[string]struct {
		old, new string
		changed  map[string]string
	}{
		"comments, sinks' formats and batches": {`plugin = "stdout"`, "plugin = \"stdout\"\nformat = \"text\"\ntemplate = \"{{.user}}\"\nbatch = { rows = 1 }", nil},
		"a filter has no state":                {`user != 'bot'`, `user != 'robot'`, nil},
		"another window":                       {`size = "10s"`, `size = "1m"`, map[string]string{"window per_user window": "tumbling windows of 1m, by event time"}},
		"another key":                          {`key_by    = ["user"]`, `key_by = ["ts"]`, map[string]string{"window per_user key_by": "ts"}},
		"another aggregate":                    {`events = "count()"`, `events = "count(ts)"`, map[string]string{"window per_user aggregate": "events = count(ts)"}},
		"more lateness":                        {window, window + "\nallowed_lateness = \"1m\"", nil},
		"late results at times":                {window, window + "\nallowed_lateness = \"1m\"\nlate_firing = \"1s\"", nil},
		"another bound":                        {`"5s"`, `"6s"`, nil},
		"another address":                      {`localhost`, `example.org`, nil},
		"another source plugin":                {"plugin  = \"socket\"\naddress = \"localhost:9999\"", "plugin = \"file\"\npath = \"x\"", map[string]string{"source clicks plugin": "file"}},
		"early results need the general engine": {window, window + "\nearly = { count = 2 }",
			map[string]string{"window per_user trigger": "early results every 2 records", "window per_user kept_as": "windows"}},
	} {
		t.Run(what, func(t *testing.T) {
			require.Contains(t, working, c.old)
			after, problems := build(t, "f.toml", strings.Replace(working, c.old, c.new, 1))
			require.Empty(t, problems)
			changed := map[string]string{}
			for k, v := range settings(after) {
				was, there := before[k]
				require.True(t, there, k)
				if v != was {
					changed[k] = v
				}
			}
			if len(c.changed) == 0 {
				require.Empty(t, changed)
			} else {
				require.Equal(t, c.changed, changed)
			}
		})
	}
}

// TestLatenessThatChangesTheEngine: the two engines cannot read each other's state, so an edit after which the other one runs is told as one
// that drops it, though nothing else says so.
func TestLatenessThatChangesTheEngine(t *testing.T) {
	sliding := strings.Replace(working, `{ type = "tumbling", size = "10s" }`, "{ type = \"sliding\", size = \"10s\", slide = \"5s\" }\nmeta = true", 1)
	kept := func(text string) Part {
		p, problems := build(t, "f.toml", text)
		require.Empty(t, problems)
		return p.Step("per_user").Window.part("per_user")
	}
	on, late := kept(sliding), kept(strings.Replace(sliding, "meta = true", "meta = true\nallowed_lateness = \"1m\"", 1))
	require.Equal(t, "panes", on.Rigid["kept_as"])
	require.Equal(t, "windows", late.Rigid["kept_as"])
	delete(on.Rigid, "kept_as")
	delete(late.Rigid, "kept_as")
	require.Equal(t, on, late)
}

// TestDaysOfZonesThatNeverChange: a day is 24 h there, so an edit that writes it so keeps the state; elsewhere they are other windows.
func TestDaysOfZonesThatNeverChange(t *testing.T) {
	kept := func(spec, zone string) Part {
		text := strings.Replace(working, `{ type = "tumbling", size = "10s" }`, fmt.Sprintf("{ %s, timezone = %q }", spec, zone), 1)
		p, problems := build(t, "f.toml", text)
		require.Empty(t, problems)
		return p.Step("per_user").Window.part("per_user")
	}
	for days, hours := range map[string]string{
		`type = "sliding", size = "2d", slide = "1d"`:   `type = "sliding", size = "48h", slide = "24h"`,
		`type = "cumulative", size = "1d", step = "1h"`: `type = "cumulative", size = "24h", step = "1h"`,
	} {
		require.Equal(t, kept(hours, "UTC"), kept(days, "UTC"))
		require.NotEqual(t, kept(hours, "UTC"), kept(days, "Europe/Berlin"))
	}
}
