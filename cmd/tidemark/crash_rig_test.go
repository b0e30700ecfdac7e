package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/plugins/sink/postgres/pgtest"
)

// hostilePlugins builds the program of internal/hostile, once, into a plugin directory of its own.
var hostilePlugins = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(filepath.Dir(binary), "hostile")
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "tidemark-plugins-hostile"), "./internal/hostile").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the plugins: %w\n%s", err, out)
	}
	return dir, nil
})

// fragile is the program as it is built for tests that end it at named places; see package failpoint.
var fragile = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(binary), "tidemark-failpoints")
	if out, err := exec.Command("go", "build", "-tags", "failpoints", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program with failpoints: %w\n%s", err, out)
	}
	return path, nil
})

// crashRig is two pipelines in a folder, and what they write.
//
//	files    one file that grows; disorder beyond the bound, so that there are late records, late firings and late ports;
//	         tumbling, sliding and session windows, an aggregate of a plugin and a dedup step; sinks: files, and a table
//	replay   a plugin's three partitions; a window function of a plugin; sinks: files, and a table
//
// Everything they write is settled by the records alone, whatever happens on the way.
type crashRig struct {
	*trial
	program string
	records []string
	url     string
	tables  string // the schema of this rig's tables
	sql     func(string) [][]string
	left    int    // records of the file that are not in it yet
	memory  string // for windows; "": as much as there is by itself
}

const crashFiles = `
[pipeline]
name = "files"
batch_rows = 64

[sources.in]
plugin = "file"
path   = "input.jsonl"
follow = FOLLOW
poll   = "20ms"

[sources.in.time]
timestamp = "ts"
unit      = "ms"
max_out_of_orderness = "2s"

[transforms.tumbling]
type      = "window"
inputs    = ["in"]
key_by    = ["key"]
window    = { type = "tumbling", size = "5s" }
allowed_lateness = "4s"
meta      = true
aggregate = { n = "count()", sum = "sum(val)", mean = "avg(val)" }

[transforms.sliding]
type      = "window"
inputs    = ["in"]
key_by    = ["key"]
window    = { type = "sliding", size = "10s", slide = "2s" }
aggregate = { n = "count()", sum = "sum(val)", high = "max(val)" }

[transforms.session]
type      = "window"
inputs    = ["in"]
key_by    = ["key", "part"]
window    = { type = "session", gap = "3s" }
allowed_lateness = "5s"
aggregate = { n = "count()", sum = "sum(val)" }

[transforms.ordered]
type      = "window"
inputs    = ["in"]
key_by    = ["key"]
window    = { type = "sliding", size = "6s", slide = "3s" }
allowed_lateness = "4s"
meta      = true
aggregate = { n = "count()", order = "plugin:hostile(id)" }

[transforms.once]
type   = "dedup"
inputs = ["in"]
key_by = ["id"]
within = "1m"

[sinks.tumbling_out]
plugin = "file"
path   = "out/tumbling.jsonl"
inputs = ["tumbling"]

[sinks.ordered_out]
plugin = "file"
path   = "out/ordered.jsonl"
inputs = ["ordered"]

[sinks.late_out]
plugin = "file"
path   = "out/late.jsonl"
inputs = ["tumbling.late"]

[sinks.session_out]
plugin = "file"
path   = "out/session.jsonl"
inputs = ["session"]

[sinks.once_out]
plugin = "file"
path   = "out/once.jsonl"
inputs = ["once"]

[sinks.sliding_out]
plugin = "postgres"
url    = "${PG}"
table  = "SCHEMA.sliding"
inputs = ["sliding"]

[checkpoint]
interval     = "30ms"
min_interval = "5ms"

[restart]
backoff     = "5ms"
max_backoff = "20ms"
`

const crashReplay = `
[pipeline]
name = "replay"
batch_rows = 50

[sources.in]
plugin = "paced"
path   = "records.jsonl"
pace   = "pace"

[sources.in.time]
assigner = "hostile"

[transforms.tumbling]
type      = "window"
inputs    = ["in"]
key_by    = ["key"]
window    = { type = "tumbling", size = "4s" }
aggregate = { n = "count()", sum = "sum(val)" }

[transforms.session]
type      = "window"
inputs    = ["in"]
key_by    = ["part"]
window    = { type = "session", gap = "1s" }
aggregate = { n = "count()", sum = "sum(val)" }

[transforms.stays]
type      = "window"
inputs    = ["in"]
key_by    = ["part"]
window    = { type = "session", gap = "1s" }
aggregate = { n = "count()" }
function  = "plugin:hostile(id)"

[sinks.stays_out]
plugin = "file"
path   = "out/stays.jsonl"
inputs = ["stays"]

[sinks.tumbling_out]
plugin = "postgres"
url    = "${PG}"
table  = "SCHEMA.tumbling"
key    = ["key", "window_start"]
inputs = ["tumbling"]

[sinks.session_out]
plugin = "file"
path   = "out/replayed.jsonl"
inputs = ["session"]

[checkpoint]
interval     = "25ms"
min_interval = "5ms"

[restart]
backoff     = "5ms"
max_backoff = "20ms"
`

// crashRecords makes records in the order of their arrival. Three partitions go forward with a disorder of up to 22 s, for which the
// replayed pipeline waits; the file's has all of them in one partition and waits for 2 s only. Some records come twice.
func crashRecords(rng *rand.Rand, n int) []string {
	var out []string
	at := [3]int64{}
	for id := range n {
		part := rng.IntN(3)
		step := rng.Int64N(200)
		if rng.IntN(60) == 0 {
			step += 5000 // a silence that ends sessions
		}
		at[part] = max(at[part], slices.Max(at[:])-2000) + step
		ts := at[part] - rng.Int64N(2000)
		if rng.IntN(15) == 0 {
			ts -= rng.Int64N(20_000)
		}
		line := fmt.Sprintf(`{"id":%d,"part":%d,"key":"key%d","ts":%d,"val":%s}`, id, part, rng.IntN(7), 1_700_000_000_000+ts,
			strconv.FormatFloat(rng.NormFloat64()*1000, 'g', -1, 64))
		out = append(out, line)
		if rng.IntN(40) == 0 {
			out = append(out, line)
		}
	}
	return out
}

// newCrashRig makes the folder. Nothing of the input is there yet.
func newCrashRig(t *testing.T, db *pgtest.Server, schema string, records []string) *crashRig {
	dir, err := hostilePlugins()
	require.NoError(t, err)
	r := &crashRig{trial: &trial{t, t.TempDir()}, program: binary, records: records, url: db.URL, tables: schema, sql: db.Query, left: len(records)}
	r.write("plugins/.keep", "")
	require.NoError(t, os.Symlink(filepath.Join(dir, "tidemark-plugins-hostile"), r.path("plugins/tidemark-plugins-hostile")))
	require.NoError(t, os.Mkdir(r.path("out"), 0o755))
	r.write("records.jsonl", strings.Join(records, "\n")+"\n")
	r.write("input.jsonl", "")
	r.write("pace", "0")
	r.pipelines(true)
	db.Query("create schema " + schema)
	db.Query("create table " + schema + ".sliding (key text, window_start timestamptz, window_end timestamptz, n bigint, sum double precision, high double precision)")
	db.Query("create table " + schema + ".tumbling (key text, window_start timestamptz, window_end timestamptz, n bigint, sum double precision, unique (key, window_start))")
	return r
}

func (r *crashRig) pipelines(follow bool) {
	r.t().Helper()
	state := ""
	if r.memory != "" {
		state = "\n[state]\nmemory = \"" + r.memory + "\"\n"
	}
	r.write("files.toml", strings.NewReplacer("FOLLOW", strconv.FormatBool(follow), "SCHEMA", r.tables).Replace(crashFiles)+state)
	r.write("replay.toml", strings.ReplaceAll(crashReplay, "SCHEMA", r.tables)+state)
}

func (r *crashRig) t() *testing.T { return r.trial.T }

// feed lets so many more records be read.
func (r *crashRig) feed(n int) {
	r.t().Helper()
	n = min(n, r.left)
	from := len(r.records) - r.left
	r.left -= n
	if n > 0 {
		r.append("input.jsonl", strings.Join(r.records[from:from+n], "\n")+"\n")
	}
	r.write("pace", fmt.Sprint(from+n))
}

// life starts the program.
func (r *crashRig) life(env ...string) *program {
	r.t().Helper()
	return r.launch(r.program, []string{"run", "--quiet", "--state", "state", "--plugin-dir", "plugins", "files.toml", "replay.toml"}, append(env, "PG="+r.url)...)
}

// finish lets everything be read and runs to the end.
func (r *crashRig) finish() {
	r.t().Helper()
	r.feed(r.left)
	r.pipelines(false)
	p := r.life()
	require.Equal(r.t(), exitOK, p.wait(), "%s", p.err.String())
	p.gone()
}

// results are all that the pipelines have written, by place: files as they are, tables in an order.
func (r *crashRig) results() map[string]string {
	r.t().Helper()
	out := map[string]string{}
	files, err := filepath.Glob(r.path("out/*"))
	require.NoError(r.t(), err)
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), ".") { // a sink's book
			continue
		}
		text, err := os.ReadFile(f)
		require.NoError(r.t(), err)
		out[filepath.Base(f)] = string(text)
	}
	for _, table := range []string{"sliding", "tumbling"} {
		var lines []string
		for _, row := range r.sql("select * from " + r.tables + "." + table + " order by window_start, key") {
			lines = append(lines, strings.Join(row, "|"))
		}
		out["table "+table] = strings.Join(lines, "\n") + "\n"
	}
	return out
}

// written is how much the files hold so far.
func (r *crashRig) written() (n int64) {
	files, _ := filepath.Glob(r.path("out/*.jsonl"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			n += info.Size()
		}
	}
	return n
}

// sameAs compares with the results of a run that nobody has disturbed.
func (r *crashRig) sameAs(want map[string]string, repeat string) {
	r.t().Helper()
	got := r.results()
	require.Len(r.t(), got, len(want))
	for place, text := range want {
		if got[place] == text {
			continue
		}
		g, w := strings.Split(got[place], "\n"), strings.Split(text, "\n")
		i := 0
		for i < len(g) && i < len(w) && g[i] == w[i] {
			i++
		}
		r.t().Fatalf("%s differs from line %d on (%d lines, want %d)\ngot:\n%s\nwant:\n%s\n\n%s", place, i+1, len(g), len(w),
			strings.Join(g[max(0, i-2):min(len(g), i+5)], "\n"), strings.Join(w[max(0, i-2):min(len(w), i+5)], "\n"), repeat)
	}
}

// children are the process numbers of what p has started.
func (p *program) children() []int {
	var out []int
	for _, line := range p.left() {
		pid, _, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(pid); err == nil && n != p.cmd.Process.Pid {
			out = append(out, n)
		}
	}
	return out
}

// ended reports whether the program has.
func (p *program) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// killOne ends a process that p has started, if there is one.
func (p *program) killOne(rng *rand.Rand) {
	if all := p.children(); len(all) > 0 {
		_ = syscall.Kill(all[rng.IntN(len(all))], syscall.SIGKILL)
	}
}

// shortly waits for a while that is mostly short.
func shortly(rng *rand.Rand, mean time.Duration) {
	time.Sleep(min(time.Duration(rng.ExpFloat64()*float64(mean)), 5*mean))
}
