package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/plugins/sink/postgres/pgtest"
)

// serviceTrials are about sinks, signals and configuration.
var serviceTrials = []trialCase{
	{"087-sink-down-then-restart", func(t *trial) {
		r := t.receiver()
		r.shut()
		lines := wholeLines(t.read("input.jsonl"))
		t.write("grows.jsonl", "")
		p := t.start("pipeline.toml", r.env())
		t.grow(lines[:40]...)
		t.seen(40)
		t.until("it is told", func() bool { return strings.Contains(p.err.String(), "sink") })
		p.kill()

		p = t.start("pipeline.toml", r.env())
		t.grow(lines[40:80]...)
		t.seen(80)
		p.stop()
		require.LessOrEqual(t, strings.Count(p.err.String(), "[WARN]"), 3, "a line for the outage, not for each try")

		p = t.start("pipeline.toml", r.env())
		t.grow(lines[80:]...)
		t.grow(steadyEnd(120))
		t.seen(121)
		r.rule(func(int, []byte) int { return http.StatusServiceUnavailable })
		r.open()
		t.until("refused requests", func() bool { _, n := r.count(); return n >= 5 })
		r.rule(nil)
		t.until("all rows", func() bool { n, _ := r.count(); return n >= 20 })
		p.stop()
		rows := t.rows(r.got())
		t.same("expect.jsonl", "key", last(rows, "key"))
		require.Len(t, rows, 20, "an idempotent sink that answers gets each row once")
		require.LessOrEqual(t, strings.Count(p.err.String(), "[WARN]"), 6)
	}},
	{"088-one-poison-record", func(t *trial) {
		poison := func(_ int, body []byte) int {
			if strings.Contains(string(body), "poison") {
				return http.StatusBadRequest
			}
			return http.StatusOK
		}
		for _, file := range []string{"rows-100", "rows-1"} {
			r := t.receiver()
			r.rule(poison)
			p := t.run(file+".toml", r.env())
			rows := t.rows(r.got())
			require.Len(t, rows, 999)
			ids := map[string]bool{}
			for _, id := range fields(rows, "id") {
				ids[id] = true
			}
			require.Len(t, ids, 999)
			require.False(t, ids["500"])
			letters := t.letters(file)
			require.Len(t, letters, 1)
			require.Contains(t, string(letters[0].Raw), `"id": 500`)
			require.Contains(t, letters[0].Message, "400")
			require.EqualValues(t, 1, p.summary().DeadLetters)

			t.run(file+".toml", r.env())
			n, _ := r.count()
			require.Equal(t, 999, n, "a restart delivers nothing new")
			require.Len(t, t.letters(file), 1)
		}
		t.Run("PostgreSQL", func(inner *testing.T) {
			t := &trial{inner, t.dir}
			d := pgtest.Start(t)
			d.Query(`CREATE TABLE events (id int, note text CHECK (note <> 'poison'))`)
			t.run("postgres.toml", "DATABASE="+d.URL)
			require.Equal(t, [][]string{{"999", "499000"}}, d.Query(`SELECT count(DISTINCT id), sum(id) FROM events`))
			letters := t.letters("postgres")
			require.Len(t, letters, 1)
			require.Contains(t, string(letters[0].Raw), "500")
			require.Contains(t, letters[0].Message, "check constraint")
		})
	}},
	{"091-torn-last-line-in-the-output", func(t *trial) {
		t.write("out.jsonl", t.read("input-output-before.jsonl"))
		t.run("pipeline.toml")
		whole := wholeLines(t.read("out.jsonl"))
		require.Equal(t, []string{`{"id": 3, "v": "new"}`, `{"id": 4, "v": "new"}`, `{"id": 5, "v": "new"}`}, whole[len(whole)-3:])
		require.Equal(t, []string{`{"id": 1, "v": "whole"}`, `{"id": 2, "v": "whole"}`}, whole[:2])
		require.LessOrEqual(t, len(whole), 6, "the old half stands alone, if at all")

		require.NoError(t, os.Remove(t.path("out.jsonl")))
		p := t.start("follow.toml")
		t.until("rows", func() bool { return t.linesIn("out.jsonl") == 3 })
		q := t.tidemark([]string{"run", "--state", "other", "follow.toml"})
		t.until("it is told", func() bool { return strings.Contains(q.err.String(), "out.jsonl is being written by another") })
		q.kill()
		p.stop()
		require.Equal(t, 3, t.linesIn("out.jsonl"))
	}},
	{"093-nul-byte-for-postgresql", func(t *trial) {
		r := t.receiver()
		p := t.run("pipeline.toml", r.env())
		require.Equal(t, t.read("input.jsonl"), t.read("records.jsonl"))
		require.Equal(t, wholeLines(t.read("input.jsonl")), r.got())
		t.sameLines([]string{`{"k":"a","count":3}`, `{"k":"b\u0000","count":1}`}, p.out.lines())
		t.Run("PostgreSQL", func(inner *testing.T) {
			t := &trial{inner, t.dir}
			d := pgtest.Start(t)
			table := func(nul string) (rows []string) {
				t.Helper()
				require.NoError(t, os.RemoveAll(t.path("state")))
				d.Query("CREATE TABLE " + nul + " (id int, k text, msg text)")
				t.run("postgres.toml", "DATABASE="+d.URL, "TABLE="+nul)
				for _, r := range d.Query("SELECT id, k, msg FROM " + nul + " ORDER BY id") {
					rows = append(rows, strings.Join(r, " "))
				}
				return rows
			}
			want := render(t.file("expect-remove.jsonl"), func(r row) string { return fmt.Sprint(r["id"], " ", r["k"], " ", r["msg"]) })
			require.Equal(t, want, table("remove"))
			require.Empty(t, t.letters("postgres"))
			require.Equal(t, []string{want[0], want[3]}, table("reject"))
			require.Len(t, t.letters("postgres"), 2)
		})
	}},
	{"095-sigterm-drain", func(t *trial) {
		r := t.receiver()
		lines := wholeLines(t.read("input.jsonl"))
		t.write("grows.jsonl", "")
		start := func(deadline string) *program {
			return t.tidemark([]string{"run", "--json", "--stop-timeout", deadline, "--state", "state", "pipeline.toml"}, r.env(), "LINGER=60s")
		}
		p := start("30s")
		t.grow(lines[:60]...)
		t.seen(60)
		p.stop()
		s := p.summary()
		require.Positive(t, s.Open, "windows stay open")
		n, _ := r.count()
		require.Less(t, n, 20)

		// The sink hangs: the end has a deadline, and is not a good one.
		r.rule(func(int, []byte) int { return 0 })
		p = start("2s")
		t.grow(lines[60:100]...)
		t.seen(100)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, exitFailed, p.wait())
		require.Contains(t, p.out.String(), "the stop took longer than 2s")
		p.gone()

		// A second signal ends it at once.
		p = start("1h")
		t.grow(lines[100:]...)
		t.seen(120)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		t.until("the first signal is heard", func() bool {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-p.done:
				return true
			default:
				return false
			}
		})
		p.gone()
		close(r.release)
		r.rule(nil)

		p = t.start("pipeline.toml", r.env(), "LINGER=0s")
		t.grow(steadyEnd(120))
		t.until("all rows", func() bool { n, _ := r.count(); return n >= 20 })
		p.stop()
		t.same("expect.jsonl", "key", last(t.rows(r.got()), "key"))
		for _, row := range t.rows(r.got()) {
			t.sameContent(row)
		}

		// Right after the start, and twice.
		for range 5 {
			p = t.start("pipeline.toml", r.env(), "LINGER=0s")
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			p.wait()
			p.gone()
		}
		p = t.start("pipeline.toml", r.env(), "LINGER=0s")
		t.grow(`{"id": 121, "key": "end", "ts": 1700000190000, "val": 0}`)
		t.seen(122)
		p.stop()
	}},
	{"096-reload-with-a-broken-file", func(t *trial) {
		t.write("grows.jsonl", "")
		p := t.tidemark([]string{"daemon", "--config", "daemon.toml"}, "DIR="+t.dir)
		lines := wholeLines(t.read("input.jsonl"))
		read := 0
		feed := func(n int) {
			t.Helper()
			t.grow(lines[read : read+n]...)
			read += n
			t.seen(read)
		}
		reload := func() {
			t.Helper()
			before := strings.Count(p.err.String(), "looking for changed pipelines")
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
			t.until("a reload", func() bool { return strings.Count(p.err.String(), "looking for changed pipelines") > before })
		}
		feed(10)
		good := t.read("pipelines/steady.toml")
		for name, c := range map[string]struct{ text, says string }{
			"no TOML":        {strings.Replace(good, `plugin = "file"`, `plugin = "file`, 1), "steady.toml:2:"},
			"unknown option": {strings.Replace(good, "follow = true", "folow = true", 1), `did you mean \"follow\"`},
			"size 0":         {strings.Replace(good, `size = "5s"`, `size = "0s"`, 1), "TM2102"},
			"plugin":         {strings.Replace(good, "[sources.in.time]", "[sources.in.time]\nassigner = \"nobodys\"", 1), "nobodys"},
			"empty":          {"", "TM1007"},
		} {
			t.write("pipelines/steady.toml", c.text)
			seen := strings.Count(p.err.String(), c.says)
			reload()
			t.until(name+" is told", func() bool { return strings.Count(p.err.String(), c.says) > seen })
			feed(10)
		}
		// The good file again restarts nothing; a new one begins, and ends when it is taken away.
		t.write("pipelines/steady.toml", good)
		t.write("pipelines/other.toml", fmt.Sprintf("[sources.in]\nplugin = \"file\"\npath = %q\n[sinks.out]\nplugin = \"file\"\npath = %q\ninputs = [\"in\"]\n", t.path("input.jsonl"), t.path("other.jsonl")))
		for range 50 {
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
		}
		t.until("the new pipeline", func() bool { return t.linesIn("other.jsonl") == 120 })
		require.NoError(t, os.Remove(t.path("pipelines/other.toml")))
		reload()
		feed(120 - read)
		t.grow(steadyEnd(120))
		t.until("all rows", func() bool { return t.linesIn("out.jsonl") >= 20 })
		p.stop()
		t.same("expect.jsonl", "key", t.file("out.jsonl"))
		p.gone()
	}},
	{"100-misspelt-option", func(t *trial) {
		good := t.read("pipeline.toml")
		check := t.tidemark([]string{"check", "pipeline.toml"})
		require.Equal(t, exitOK, check.wait())
		require.Empty(t, check.err.String())
		for name, c := range map[string]struct{ old, new, says string }{
			"a letter wrong":                  {`size = "5s"`, `sise = "5s"`, `did you mean "size"`},
			"no unit":                         {`size = "5s"`, `size = 5`, "write"},
			"no unit, as a text":              {`size = "5s"`, `size = "5"`, "unit"},
			"size 0":                          {`size = "5s"`, `size = "0s"`, "size"},
			"a negative size":                 {`size = "5s"`, `size = "-5s"`, "size"},
			"slide larger than size":          {`type = "tumbling", size = "5s"`, `type = "sliding", size = "5s", slide = "0s"`, "slide"},
			"an option of another plugin":     {"address =", "follow = true\naddress =", "follow"},
			"the same option twice":           {"unit      =", "unit = \"s\"\nunit      =", "unit"},
			"one level too deep":              {"[sources.in]\n", "[sources.in.decode]\ndelay = \"1s\"\n[sources.in]\n", "delay"},
			"an unknown aggregate":            {"sum(val)", "summ(val)", "sum"},
			"two steps of one name":           {"[sinks.out]", "[sinks.windows]\nplugin = \"stdout\"\ninputs = [\"in\"]\n[sinks.out]", "windows"},
			"a step that is not there":        {`inputs    = ["in"]`, `inputs    = ["inn"]`, `did you mean "in"`},
			"true where a number is due":      {"[sinks.out]", "[pipeline]\nshards = true\n[sinks.out]", "shards"},
			"an environment variable not set": {"localhost:1", "${NO_SUCH_VARIABLE}", "NO_SUCH_VARIABLE"},
			"a cycle":                         {`inputs    = ["in"]`, "inputs    = [\"loop\"]\n[transforms.loop]\ntype = \"filter\"\nwhere = \"true\"\ninputs = [\"windows\"]\n[transforms.x]\ntype = \"window\"\ninputs = [\"in\"]", "TM3005"},
			"no sink":                         {good[strings.Index(good, "[sinks.out]"):], "", "TM3002"},
		} {
			require.Contains(t, good, c.old, name)
			t.write("changed.toml", strings.Replace(good, c.old, c.new, 1))
			for _, verb := range []string{"check", "run"} {
				p := t.tidemark([]string{verb, "changed.toml"})
				require.Equal(t, exitConfig, p.wait(), "%s, %s: %s", name, verb, p.err.String())
				require.Regexp(t, `^changed\.toml:(\d+:\d+: )?`, p.err.String())
				p.says(c.says)
			}
		}
		// All at once.
		t.write("changed.toml", strings.NewReplacer(`size = "5s"`, `sise = "5s"`, "summ(val)", "sum(val)", "sum(val)", "summ(val)", `inputs    = ["in"]`, `inputs    = ["inn"]`).Replace(good))
		p := t.tidemark([]string{"check", "changed.toml"})
		require.Equal(t, exitConfig, p.wait())
		p.says(`did you mean "size"`, `did you mean "in"`, "summ")
	}},
}

// sameContent requires a row to be one of those that are expected.
func (t *trial) sameContent(r row) {
	t.Helper()
	for _, want := range t.file("expect.jsonl") {
		if fmt.Sprint(want["key"], want["start"]) == fmt.Sprint(r["key"], r["window_start"]) {
			require.Equal(t, fmt.Sprint(want["count"], want["sum"]), fmt.Sprint(r["count"], r["sum"]), "a window with a part of its records")
			return
		}
	}
	require.Fail(t, "a row that nobody expects", "%v", r)
}
