package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/plugins/sink/postgres/pgtest"
)

const restoredPipeline = `
[pipeline]
name = "p"

[sources.in]
plugin = "file"
path   = "input.jsonl"
follow = true
poll   = "20ms"
[sources.in.time]
timestamp = "ts"
unit      = "ms"

[transforms.counted]
type      = "window"
inputs    = ["in"]
key_by    = ["id"]
window    = { type = "tumbling", size = "1s" }
aggregate = { n = "count()" }

[sinks.file]
plugin = "file"
path   = "out.jsonl"
inputs = ["counted"]

[sinks.table]
plugin = "postgres"
url    = "${PG}"
table  = "results"
inputs = ["counted"]

[checkpoint]
interval = "20ms"
`

// restoredRig is a pipeline that gives a result for each record but the newest one, to a file and to a table.
type restoredRig struct {
	*trial
	db  *pgtest.Server
	fed int
}

func (r *restoredRig) feed(n int) {
	r.Helper()
	for range n {
		r.append("input.jsonl", fmt.Sprintf("{\"id\":%d,\"ts\":%d}\n", r.fed, 1_700_000_000_000+int64(r.fed)*1000))
		r.fed++
	}
}

func (r *restoredRig) life(state string) *program {
	r.Helper()
	return r.tidemark([]string{"run", "--state", state, "p.toml"}, "PG="+r.db.URL)
}

// holds waits until each place has so many rows.
func (r *restoredRig) holds(rows int) {
	r.Helper()
	r.until(fmt.Sprintf("%d rows everywhere", rows), func() bool {
		return r.linesIn("out.jsonl") == rows && r.db.Query("select count(*) from results")[0][0] == fmt.Sprint(rows)
	})
}

// times is how often each id is in both places.
func (r *restoredRig) times() (out []int) {
	r.Helper()
	text := r.read("out.jsonl")
	for id := range r.fed - 1 {
		n := strings.Count(text, fmt.Sprintf("{\"id\":%d,", id))
		require.Equal(r, fmt.Sprint(n), r.db.Query(fmt.Sprintf("select count(*) from results where id = %d", id))[0][0], "id %d", id)
		out = append(out, n)
	}
	return out
}

func times(n, how int) (out []int) {
	for range n {
		out = append(out, how)
	}
	return out
}

// A savepoint is older than what the pipeline has done since. Going back to it doubles nothing without a word.
func TestSinksOfARestoredSavepoint(t *testing.T) {
	r := &restoredRig{trial: &trial{t, t.TempDir()}, db: pgtest.Start(t)}
	r.db.Query("create table results (id bigint, window_start timestamptz, window_end timestamptz, n bigint)")
	r.write("p.toml", restoredPipeline)
	r.write("input.jsonl", "")
	restore := func(savepoint, state string, flags ...string) {
		t.Helper()
		p := r.tidemark(append([]string{"savepoint", "restore", savepoint, "--state", state}, flags...))
		require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
	}

	p := r.life("state")
	r.feed(11)
	r.holds(10)
	p.stop()
	require.Equal(t, exitOK, r.tidemark([]string{"savepoint", "create", "--state", "state", "--to", "early"}).wait())

	// Nothing has happened since: the state goes on, and no row comes twice.
	restore("early", "second")
	p = r.life("second")
	r.feed(10)
	r.holds(20)
	p.stop()
	require.Equal(t, times(20, 1), r.times())

	// Now the sinks are ahead.
	restore("early", "third")
	p = r.life("third")
	require.Equal(t, exitEnvironment, p.wait())
	p.says("TM6005", "holds rows up to number 20, but the state knows of 10 only", "--sinks again", "--sinks skip")
	require.Equal(t, times(20, 1), r.times())

	// The same input gives the same rows: they are left out by their numbers, in spite of a kill.
	restore("early", "fourth", "--sinks", "skip")
	r.life("fourth").kill()
	p = r.life("fourth")
	r.feed(5)
	r.holds(25)
	p.stop()
	require.Equal(t, times(25, 1), r.times())

	// Or they come again, as new ones.
	restore("early", "fifth", "--sinks", "again")
	p = r.life("fifth")
	r.holds(40)
	p.stop()
	require.Equal(t, append(times(10, 1), times(15, 2)...), r.times())

	p = r.tidemark([]string{"savepoint", "restore", "early", "--state", "sixth", "--sinks", "never"})
	require.Equal(t, exitConfig, p.wait())
	p.says("exact, skip or again")
	_, err := os.Stat(r.path("sixth"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
