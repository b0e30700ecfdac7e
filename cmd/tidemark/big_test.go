package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/procstat"
	"github.com/tidemark-stream/tidemark/plugins/source/generate"
)

// bigPipeline has one window with all keys, which ends with the input, and short ones whose results show that it goes on.
const bigPipeline = `
[pipeline]
name = "big"
[sources.events]
plugin     = "generate"
records    = "events"
count      = %d
keys       = %d
event_rate = %d.0
start      = "2023-11-14T22:30:00Z"
disorder   = "2s"
seed       = 1
isolation  = "none"
[sources.events.time]
timestamp = "ts"
unit      = "ms"
max_out_of_orderness = "2s"
isolation = "none"
[transforms.per_key]
type   = "window"
inputs = ["events"]
key_by = ["key"]
window = { type = "tumbling", size = "1h" }
aggregate = { n = "count()", sum = "sum(value)" }
[transforms.pulse]
type   = "window"
inputs = ["events"]
window = { type = "tumbling", size = "50ms" }
aggregate = { n = "count()" }
[sinks.out]
plugin = "file"
inputs = ["per_key"]
path   = "out.jsonl"
[sinks.beat]
plugin = "file"
inputs = ["pulse"]
path   = "beat.jsonl"
[checkpoint]
interval = "2s"
[state]
memory = "192MiB"
cache  = "64MiB"
`

// TestBig has far more keys in one open window than there is memory for: BIG_KEYS, twice as many records, and 1 GiB for the process. It is killed
// twice on the way, and what it has counted in the end is compared, key by key, with the events themselves.
func TestBig(t *testing.T) {
	keys := number(t, "BIG_KEYS", 0)
	if keys == 0 {
		t.Skip("this takes minutes and gigabytes: make big")
	}
	const limit = 1 << 30
	count, rate := 2*keys, 2*keys/60
	r := &trial{t, t.TempDir()}
	r.write("big.toml", fmt.Sprintf(bigPipeline, count, keys, rate))
	size := func(name string) int64 {
		info, err := os.Stat(r.path(name))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	begun := time.Now()
	wait := func(p *program, what string, ask func() bool) {
		for !ask() {
			require.False(t, p.ended(), "it ended before %s: %s", what, p.err.String())
			time.Sleep(5 * time.Millisecond)
		}
	}
	life := func() (*program, *procstat.Watch) {
		p := r.launch(binary, []string{"run", "--json", "--state", "state", "big.toml"}, "GOMEMLIMIT=800MiB")
		return p, procstat.Watching(p.cmd.Process.Pid)
	}
	highest := func(w *procstat.Watch) {
		peak := w.Stop().Process
		t.Logf("peak of resident memory: %d MiB", peak>>20)
		require.Less(t, peak, int64(limit), "it is to do with 1 GiB")
	}

	// A beat is about 70 bytes, and there are 1,200 of them.
	for n, beats := range []int64{500, 1000} {
		p, w := life()
		from := size("beat.jsonl")
		wait(p, "its first result", func() bool { return size("beat.jsonl") > from })
		if n > 0 {
			t.Logf("first new result after the kill: %v", time.Since(begun).Round(time.Millisecond))
		}
		wait(p, "the next kill", func() bool { return size("beat.jsonl") > beats*70 })
		highest(w)
		p.kill()
		begun = time.Now()
	}
	p, w := life()
	from := size("beat.jsonl")
	wait(p, "its first result", func() bool { return size("beat.jsonl") > from })
	t.Logf("first new result after the kill: %v", time.Since(begun).Round(time.Millisecond))
	<-p.done
	highest(w)
	require.Equal(t, exitOK, p.code, "%s", p.err.String())
	t.Logf("%d keys, %d records: %.0f s since the last kill; %s", keys, count, time.Since(begun).Seconds(), brief(p.err.String()))
	bigIsRight(t, r.path("out.jsonl"), keys, count, rate)
}

// bigIsRight compares the results with the events.
func bigIsRight(t *testing.T, path string, keys, count, rate int64) {
	type total struct {
		n     int32
		cents int64
	}
	totals := make([]total, keys)
	start := time.Date(2023, 11, 14, 22, 30, 0, 0, time.UTC).UnixMilli()
	g, err := generate.NewGenerator(generate.Workload{Seed: 1, Keys: int(keys), Rate: float64(rate), Disorder: 2000, Start: start})
	require.NoError(t, err)
	for range count {
		e := g.Next()
		totals[e.Key].n++
		totals[e.Key].cents += int64(e.Cents)
	}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	var row struct {
		Key string
		N   int32
		Sum float64
	}
	for lines.Scan() {
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		key, err := strconv.Atoi(row.Key[len("user-"):])
		require.NoError(t, err)
		if want := totals[key]; want.n != row.N || want.cents != int64(math.Round(row.Sum*100)) {
			t.Fatalf("%s, want %d rows and %d cents; a key whose row has come already has 0", lines.Text(), want.n, want.cents)
		}
		totals[key] = total{}
	}
	require.NoError(t, lines.Err())
	for key, rest := range totals {
		if rest.n != 0 {
			t.Fatalf("there is no row of user-%08d", key)
		}
	}
}
