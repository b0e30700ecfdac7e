package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/sdk"
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

[transforms.folded]
type      = "window"
inputs    = ["pass"]
key_by    = ["part"]
window    = { type = "tumbling", size = "5s" }
aggregate = { order = { plugin = "hostile", args = ["id"], AGGREGATE } }

[transforms.stays]
type     = "window"
inputs   = ["pass"]
key_by   = ["part"]
window   = { type = "tumbling", size = "5s" }
function = { plugin = "hostile", args = ["id"], WINDOW }

[sinks.out]
plugin = "file"
path   = "out.jsonl"
inputs = ["windows"]

[sinks.folded_out]
plugin = "file"
path   = "folded.jsonl"
inputs = ["folded"]

[sinks.stays_out]
plugin = "file"
path   = "stays.jsonl"
inputs = ["stays"]

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

[plugins.aggregate-hostile]
call_timeout = "2s"

[plugins.window-hostile]
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

// start runs both pipelines. options are what the hostile plugin of a kind gets in its table.
func (r *hostileRig) start(options map[sdk.Kind][]string, env ...string) *program {
	r.Helper()
	inline := func(kind sdk.Kind) string {
		return strings.Join(append([]string{"max_records = 5000"}, options[kind]...), ", ")
	}
	r.write("hostile.toml", strings.NewReplacer("ASSIGNER", strings.Join(options[sdk.KindAssigner], "\n"), "TRANSFORM", strings.Join(options[sdk.KindTransform], "\n"),
		"AGGREGATE", inline(sdk.KindAggregate), "WINDOW", inline(sdk.KindWindow)).Replace(hostilePipeline))
	return r.tidemark([]string{"run", "--quiet", "--state", "state", "--plugin-dir", "plugins", "hostile.toml", "healthy.toml"}, env...)
}

// results are what the hostile pipeline has written.
func (r *hostileRig) results() map[string]string {
	return map[string]string{"out": r.read("out.jsonl"), "folded": r.read("folded.jsonl"), "stays": r.read("stays.jsonl")}
}

// hostileResults are the results of a run in which nothing happens.
func hostileResults(t *testing.T, records []string) (hostile map[string]string, healthy string) {
	t.Helper()
	r := newHostileRig(t, records)
	p := r.start(nil)
	require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
	p.gone()
	require.Empty(t, p.err.String())
	return r.results(), r.read("healthy.jsonl")
}

// windowOf takes the rows of one window out of results.
func windowOf(rows string, part, start any) (without string, taken int) {
	for _, line := range strings.SplitAfter(rows, "\n") {
		if strings.Contains(line, fmt.Sprintf(`"part":%v,"window_start":"%v"`, part, start)) {
			taken++
			continue
		}
		without += line
	}
	return without, taken
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

	var event struct{ Part, TS int64 }
	require.NoError(t, json.Unmarshal([]byte(records[slices.IndexFunc(records, func(r string) bool { return strings.HasPrefix(r, fmt.Sprintf(`{"id":%d,`, bad)) })]), &event))
	badStart := time.UnixMilli(event.TS - event.Part*60_000).UTC().Truncate(5 * time.Second).Format("2006-01-02T15:04:05.000Z")

	for _, c := range []struct {
		name     string
		kind     sdk.Kind
		how      string
		once     bool
		lost     bool   // the bad record is refused, or its window
		failures int    // of the pipeline
		says     string // each of the lines about that
	}{
		{"an assigner exits", sdk.KindAssigner, "exit", true, false, 1, "the process has ended (exit status 3); its last words: event 1234 is my last"},
		{"an assigner panics", sdk.KindAssigner, "panic", true, false, 1, "panic: event 1234 is my last"},
		{"an assigner crashes", sdk.KindAssigner, "crash", true, false, 1, "the process has ended (exit status 2); its last words: panic: event 1234 is my last, at main.go:"},
		{"an assigner hangs", sdk.KindAssigner, "hang", true, false, 1, "has not answered a call for 2s"},
		{"an assigner stops answering anything", sdk.KindAssigner, "freeze", true, false, 1, "has not answered a call for 2s"},
		{"an assigner gives fewer timestamps than rows", sdk.KindAssigner, "fewer", true, false, 1, "plugins-hostile): it returned "},
		{"an assigner's watermarks go back", sdk.KindAssigner, "back", false, false, 0, ""},
		{"an assigner exits at a record each time", sdk.KindAssigner, "exit", false, true, 3, "event 1234 is my last"},
		{"an assigner gives fewer timestamps each time", sdk.KindAssigner, "fewer", false, true, 3, "plugins-hostile): it returned "},
		{"a transform exits", sdk.KindTransform, "exit", true, false, 1, "event 1234 is my last"},
		{"a transform hangs", sdk.KindTransform, "hang", true, false, 1, "has not answered a call for 2s"},
		{"a transform panics at a record each time", sdk.KindTransform, "panic", false, true, 3, "event 1234 is my last"},
		{"an aggregate exits", sdk.KindAggregate, "exit", true, false, 1, "event 1234 is my last"},
		{"an aggregate hangs", sdk.KindAggregate, "hang", true, false, 1, "has not answered a call for 2s"},
		{"an aggregate gives fewer results than windows", sdk.KindAggregate, "fewer", true, false, 1, "plugins-hostile): "},
		{"an aggregate panics at a window each time", sdk.KindAggregate, "panic", false, true, 3, "event 1234 is my last"},
		{"a window function exits", sdk.KindWindow, "exit", true, false, 1, "event 1234 is my last"},
		{"a window function hangs", sdk.KindWindow, "hang", true, false, 1, "has not answered a call for 2s"},
		{"a window function exits at a window each time", sdk.KindWindow, "exit", false, true, 3, "event 1234 is my last"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newHostileRig(t, records)
			options := []string{fmt.Sprintf("how = %q", c.how), fmt.Sprintf("at = %d", bad)}
			if c.once {
				options = append(options, fmt.Sprintf("once = %q", r.path("once")))
			}
			p := r.start(map[sdk.Kind][]string{c.kind: options})
			require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
			p.gone()
			failures, convictions := 0, 0
			for _, line := range p.err.lines() {
				require.Contains(t, line, "pipeline=hostile", "nobody else is concerned")
				switch {
				case strings.Contains(line, "it goes on from its last commit"):
					failures++
					require.Contains(t, line, c.says)
				case strings.Contains(line, "has ended a plugin twice"):
					convictions++
				case strings.Contains(line, "the plugin does not answer and is killed"):
					require.Contains(t, []string{"hang", "freeze"}, c.how)
				default:
					require.Contains(t, line, "one by one", "what else is there to say?")
				}
			}
			require.Equal(t, c.failures, failures)
			require.Equal(t, healthy, r.read("healthy.jsonl"))
			if !c.lost {
				require.Zero(t, convictions)
				require.Equal(t, want, r.results())
				return
			}
			require.Equal(t, 1, convictions)
			letters := r.tidemark([]string{"deadletters", "export", "hostile", "--state", "state"})
			require.Equal(t, exitOK, letters.wait(), "%s", letters.err.String())
			require.Contains(t, letters.out.String(), `"poison"`)
			if !c.kind.OfWindows() {
				require.Equal(t, wantWithout, r.results())
				require.Contains(t, letters.out.String(), fmt.Sprint(bad))
				return
			}
			left := maps.Clone(want)
			place := map[sdk.Kind]string{sdk.KindAggregate: "folded", sdk.KindWindow: "stays"}[c.kind]
			var taken int
			left[place], taken = windowOf(want[place], event.Part, badStart)
			require.Positive(t, taken)
			require.Equal(t, left, r.results(), "the window is lost, and nothing else")
		})
	}

	for how, says := range map[string][]string{
		"exit":    {"it ended before it was ready (exit status 7); its last words: there is no licence for this machine"},
		"garbage": {"shook hands, but does not answer"},
		"version": {"it speaks version 7 of the plugin protocol, and this tidemark speaks version 1", "upgrade tidemark to one that speaks version 7"},
	} {
		t.Run("a plugin that does not start: "+how, func(t *testing.T) {
			r := newHostileRig(t, records)
			p := r.start(nil, "MISBEHAVE="+how)
			require.Equal(t, exitConfig, p.wait(), "%s", p.err.String())
			p.says(append(says, "hostile.toml")...)
			p.gone()
		})
	}

	for _, how := range []string{"prints", "floods"} {
		t.Run("a plugin that is noisy: "+how, func(t *testing.T) {
			r := newHostileRig(t, records)
			p := r.start(nil, "MISBEHAVE="+how)
			require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
			p.gone()
			require.Empty(t, p.err.String(), "noise is for those who ask for it")
			require.Equal(t, want, r.results())
			require.Equal(t, healthy, r.read("healthy.jsonl"))
		})
	}

	t.Run("a plugin that does not want to end", func(t *testing.T) {
		r := newHostileRig(t, records)
		p := r.start(nil, "MISBEHAVE=deaf")
		require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
		require.Equal(t, want, r.results())
		p.gone()

		r = newHostileRig(t, records)
		p = r.start(nil, "MISBEHAVE=deaf")
		r.until("plugins run", func() bool { return len(p.children()) >= 4 })
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
		p.gone()
		p = r.start(nil)
		require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
		require.Equal(t, want, r.results())
	})
}
