package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const hostilePipeline = `
[pipeline]
name = "hostile"
batch_rows = 100

[sources.in]
plugin = "paced"
path   = "records.jsonl"

[sources.in.time]
assigner = "hostile"
ASSIGNER

[transforms.pass]
type   = "plugin"
plugin = "hostile"
inputs = ["in"]
TRANSFORM

[transforms.windows]
type      = "window"
inputs    = ["pass"]
key_by    = ["part"]
window    = { type = "tumbling", size = "5s" }
aggregate = { n = "count()", sum = "sum(val)" }

[sinks.out]
plugin = "file"
path   = "out.jsonl"
inputs = ["windows"]

[checkpoint]
interval = "20ms"

[restart]
backoff     = "5ms"
max_backoff = "20ms"

[plugins.assigner-hostile]
call_timeout = "2s"
env = { MISBEHAVE = "${MISBEHAVE:-}" }

[plugins.transform-hostile]
call_timeout = "2s"
`

const healthyPipeline = `
[pipeline]
name = "healthy"

[sources.in]
plugin = "file"
path   = "records.jsonl"

[sources.in.time]
timestamp = "ts"
unit      = "ms"

[transforms.windows]
type      = "window"
inputs    = ["in"]
key_by    = ["part"]
window    = { type = "tumbling", size = "5s" }
aggregate = { n = "count()" }

[sinks.out]
plugin = "file"
path   = "healthy.jsonl"
inputs = ["windows"]
`

// hostileRig is a pipeline with plugins that misbehave, and a healthy one beside it.
type hostileRig struct {
	*trial
	records []string
}

func newHostileRig(t *testing.T, records []string) *hostileRig {
	dir, err := hostilePlugins()
	require.NoError(t, err)
	r := &hostileRig{&trial{t, t.TempDir()}, records}
	require.NoError(t, os.Mkdir(r.path("plugins"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(dir, "tidemark-plugins-hostile"), r.path("plugins/tidemark-plugins-hostile")))
	r.write("records.jsonl", strings.Join(records, "\n")+"\n")
	r.write("healthy.toml", healthyPipeline)
	return r
}

// start runs both pipelines; the options stand in the tables of the assigner and the transform.
func (r *hostileRig) start(assigner, transform string, env ...string) *program {
	r.Helper()
	r.write("hostile.toml", strings.NewReplacer("ASSIGNER", assigner, "TRANSFORM", transform).Replace(hostilePipeline))
	return r.tidemark([]string{"run", "--quiet", "--state", "state", "--plugin-dir", "plugins", "hostile.toml", "healthy.toml"}, env...)
}

// hostileResults are the results of a run in which nothing happens.
func hostileResults(t *testing.T, records []string) (hostile, healthy string) {
	t.Helper()
	r := newHostileRig(t, records)
	p := r.start("", "")
	require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
	p.gone()
	require.Empty(t, p.err.String())
	return r.read("out.jsonl"), r.read("healthy.jsonl")
}

func TestHostilePlugins(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	records := slices.Compact(crashRecords(rng, 2000))
	// One record is larger than what gRPC takes by default.
	records[300] = strings.Replace(records[300], `"key":"`, `"key":"`+strings.Repeat("x", 6<<20), 1)
	want, healthy := hostileResults(t, records)
	const bad = 1234
	without := slices.DeleteFunc(slices.Clone(records), func(r string) bool { return strings.HasPrefix(r, fmt.Sprintf(`{"id":%d,`, bad)) })
	require.Len(t, without, len(records)-1)
	wantWithout, _ := hostileResults(t, without)

	for _, c := range []struct {
		name      string
		assigner  string // options
		transform string
		lost      bool   // the bad record is refused
		failures  int    // of the pipeline
		says      string // each of the lines about that
	}{
		{"an assigner exits", `how = "exit"` + "\nonce = ONCE", "", false, 1, "the process has ended (exit status 3); its last words: event 1234 is my last"},
		{"an assigner panics", `how = "panic"` + "\nonce = ONCE", "", false, 1, "panic: event 1234 is my last"},
		{"an assigner hangs", `how = "hang"` + "\nonce = ONCE", "", false, 1, "has not answered a call for 2s"},
		{"an assigner gives fewer timestamps than rows", `how = "fewer"` + "\nonce = ONCE", "", false, 1, "plugins-hostile): it returned "},
		{"an assigner's watermarks go back", `how = "back"`, "", false, 0, ""},
		{"an assigner exits at a record each time", `how = "exit"`, "", true, 3, "event 1234 is my last"},
		{"an assigner gives fewer timestamps each time", `how = "fewer"`, "", true, 3, "plugins-hostile): it returned "},
		{"a transform exits", "", `how = "exit"` + "\nonce = ONCE", false, 1, "event 1234 is my last"},
		{"a transform hangs", "", `how = "hang"` + "\nonce = ONCE", false, 1, "has not answered a call for 2s"},
		{"a transform panics at a record each time", "", `how = "panic"`, true, 3, "event 1234 is my last"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newHostileRig(t, records)
			options := func(text string) string {
				if text == "" {
					return ""
				}
				return strings.ReplaceAll(text, "ONCE", fmt.Sprintf("%q", r.path("once"))) + fmt.Sprintf("\nat = %d", bad)
			}
			p := r.start(options(c.assigner), options(c.transform))
			require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
			p.gone()
			failures, convictions := 0, 0
			for _, line := range p.err.lines() {
				require.Contains(t, line, "pipeline=hostile", "nobody else is concerned")
				switch {
				case strings.Contains(line, "it goes on from its last commit"):
					failures++
					require.Contains(t, line, c.says)
				case strings.Contains(line, "a record has ended a plugin twice"):
					convictions++
				case strings.Contains(line, "the plugin does not answer and is killed"):
					require.Contains(t, c.name, "hangs")
				default:
					require.Contains(t, line, "one by one", "what else is there to say?")
				}
			}
			require.Equal(t, c.failures, failures)
			require.Equal(t, healthy, r.read("healthy.jsonl"))
			if !c.lost {
				require.Zero(t, convictions)
				require.Equal(t, want, r.read("out.jsonl"))
				return
			}
			require.Equal(t, 1, convictions)
			require.Equal(t, wantWithout, r.read("out.jsonl"))
			letters := r.tidemark([]string{"deadletters", "export", "hostile", "--state", "state"})
			require.Equal(t, exitOK, letters.wait(), "%s", letters.err.String())
			require.Contains(t, letters.out.String(), `"poison"`)
			require.Contains(t, letters.out.String(), fmt.Sprint(bad))
		})
	}

	for how, says := range map[string]string{
		"exit":    "it ended before it was ready (exit status 7); its last words: there is no licence for this machine",
		"garbage": "shook hands, but does not answer",
	} {
		t.Run("a plugin that does not start: "+how, func(t *testing.T) {
			r := newHostileRig(t, records)
			p := r.start("", "", "MISBEHAVE="+how)
			require.Equal(t, exitConfig, p.wait(), "%s", p.err.String())
			p.says(says, "hostile.toml")
			p.gone()
		})
	}

	t.Run("a plugin that does not want to end", func(t *testing.T) {
		r := newHostileRig(t, records)
		p := r.start("", "", "MISBEHAVE=deaf")
		require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
		require.Equal(t, want, r.read("out.jsonl"))
		p.gone()

		r = newHostileRig(t, records)
		p = r.start("", "", "MISBEHAVE=deaf")
		r.until("plugins run", func() bool { return len(p.children()) >= 4 })
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
		p.gone()
		p = r.start("", "")
		require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
		require.Equal(t, want, r.read("out.jsonl"))
	})
}
