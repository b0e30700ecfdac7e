package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// stateTrials are about what survives, and where it lies.
var stateTrials = []trialCase{
	{"079-disk-full", func(t *trial) {
		state := t.path("state")
		t.mount("state", "size=32m", 0)
		lines := wholeLines(t.read("input.jsonl"))
		t.write("grows.jsonl", "")
		p := t.start("pipeline.toml")
		t.grow(lines[:60]...)
		t.seen(60)

		fill := func() {
			f, err := os.Create(filepath.Join(state, "fill"))
			require.NoError(t, err)
			defer f.Close()
			for _, size := range []int{1 << 20, 4096, 1} {
				for {
					if _, err := f.Write(make([]byte, size)); err != nil {
						break
					}
				}
			}
		}
		full := func(p *program) {
			t.Helper()
			t.until("the log says why", func() bool { return strings.Contains(p.err.String(), "the disk is full") })
			p.says("state/pipeline", "TM6006")
		}
		fill()
		t.grow(lines[60:90]...)
		full(p)
		require.Less(t, t.linesIn("out.jsonl"), 12, "nothing is true that could not be committed")
		require.NoError(t, os.Remove(filepath.Join(state, "fill"))) // it goes on by itself
		t.seen(90)
		t.until("rows", func() bool { return t.linesIn("out.jsonl") >= 10 })

		fill()
		t.grow(lines[90:]...)
		t.until("the log says it again", func() bool { return strings.Count(p.err.String(), "the disk is full") >= 2 })
		p.kill()
		p = t.start("pipeline.toml") // a start on a full disk damages nothing
		full(p)
		p.kill()
		require.NotContains(t, p.err.String(), "goroutine ")

		require.NoError(t, os.Remove(filepath.Join(state, "fill")))
		p = t.start("pipeline.toml")
		t.grow(steadyEnd(120))
		t.until("all rows", func() bool { return t.linesIn("out.jsonl") >= 20 })
		p.stop()
		t.same("expect.jsonl", "key", t.file("out.jsonl"))
		p.counted(0, 0)
	}},
	{"081-two-daemons-one-state", func(t *trial) {
		f := t.feed()
		p := t.start("pipeline.toml", f.env())
		lines := wholeLines(t.read("input.jsonl"))
		f.lines(lines[:60]...)
		t.until("rows", func() bool { return t.linesIn("out.jsonl") > 3 })

		require.NoError(t, os.Symlink(t.path("state"), t.path("link")))
		t.write("other.toml", "[pipeline]\nname = \"pipeline\"\n"+t.read("pipeline.toml"))
		second := func(state, file string) {
			other := t.feed()
			began := time.Now()
			q := t.tidemark([]string{"run", "--state", state, file}, other.env())
			require.Equal(t, exitEnvironment, q.wait(), "%s", q.err.String())
			require.Less(t, time.Since(began), 10*time.Second)
			q.says("in use", state+"/pipeline", fmt.Sprint(p.cmd.Process.Pid))
			require.Zero(t, other.waiting(), "it has opened its source")
		}
		second("state", "pipeline.toml")
		second("link", "pipeline.toml")
		second("state", "other.toml")

		f.lines(lines[60:]...)
		t.until("more rows", func() bool { return t.linesIn("out.jsonl") > 12 })
		p.kill()
		f.close()
		p = t.start("pipeline.toml", f.env())
		f.lines(steadyEnd(120))
		t.until("all rows", func() bool { return t.linesIn("out.jsonl") >= 20 })
		p.stop()
		t.same("expect.jsonl", "key", t.file("out.jsonl"))
	}},
	{"082-kill-9-and-the-same-answer", func(t *trial) {
		const n = 3000
		lines := steady(n)
		kinds := []string{"tumbling", "sliding", "session"}
		files := []string{"tumbling.toml", "sliding.toml", "session.toml"}
		start := func(state string) *program {
			return t.tidemark(append([]string{"run", "--json", "--state", state}, files...))
		}

		// The answer, without a disturbance.
		want := map[string][]string{}
		t.write("grows.jsonl", strings.Join(append(slices.Clone(lines), steadyEnd(n)), "\n")+"\n")
		p := start("undisturbed")
		t.until("all rows", func() bool {
			return t.linesIn("tumbling.jsonl") > 450 && t.linesIn("sliding.jsonl") > 2250 && t.linesIn("session.jsonl") > 5
		})
		p.stop()
		for _, kind := range kinds {
			want[kind] = wholeLines(t.read(kind + ".jsonl"))
			require.NoError(t, os.Remove(t.path(kind+".jsonl")))
		}
		t.write("steady.jsonl", strings.Join(steadyAnswer(lines), "\n"))
		t.write("tumbling-rows.jsonl", strings.Join(want["tumbling"], "\n")+"\n")
		t.same("steady.jsonl", "key", t.file("tumbling-rows.jsonl"))

		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		t.write("grows.jsonl", "")
		for at := 0; at < n; {
			p = start("state")
			for range 1 + random.IntN(3) {
				next := min(n, at+1+random.IntN(200))
				t.grow(lines[at:next]...)
				at = next
				time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond) // any moment will do
				if at == n {
					break
				}
			}
			p.kill()
			p.gone()
		}
		p = start("state")
		t.grow(steadyEnd(n))
		for _, kind := range kinds {
			t.until("all rows of "+kind, func() bool { return t.linesIn(kind+".jsonl") >= len(want[kind]) })
		}
		p.stop()
		for _, kind := range kinds {
			require.Equal(t, want[kind], wholeLines(t.read(kind+".jsonl")), "%s: every row, once, in the same order", kind)
		}
	}},
	{"085-state-directory-read-only", func(t *trial) {
		t.write("a-file", "")
		states := map[string]string{"a-file": "a-file", "a-file/below": "not a directory"}
		if runtime.GOOS == "linux" {
			states["/proc/state"] = "/proc/state"
		}
		for state, says := range states {
			f := t.feed()
			p := t.tidemark([]string{"run", "--state", state, "pipeline.toml"}, f.env())
			require.Equal(t, exitEnvironment, p.wait(), "%s: %s", state, p.err.String())
			p.says(state, says)
			require.NotContains(t, p.err.String(), "goroutine")
			require.Zero(t, f.waiting(), "it has opened its source")
		}
		f := t.feed()
		p := t.start("pipeline.toml", f.env())
		f.need()
		p.stop()
		info, err := os.Stat(t.path("state"))
		require.NoError(t, err)
		require.Equal(t, "drwx------", info.Mode().String())
	}},
}

// steadyAnswer is what windows of five seconds hold of steady lines.
func steadyAnswer(lines []string) []string {
	type window struct {
		start int64
		key   string
	}
	sums := map[window][2]int64{}
	for _, line := range lines {
		var id, ts, val int64
		var key string
		if _, err := fmt.Sscanf(line, `{"id": %d, "key": %q, "ts": %d, "val": %d}`, &id, &key, &ts, &val); err != nil {
			panic(err)
		}
		w := window{ts - ts%5000, key}
		s := sums[w]
		sums[w] = [2]int64{s[0] + 1, s[1] + val}
	}
	var out []string
	for w, s := range sums {
		out = append(out, fmt.Sprintf(`{"key":%q,"start":%d,"end":%d,"count":%d,"sum":%d}`, w.key, w.start, w.start+5000, s[0], s[1]))
	}
	return out
}
