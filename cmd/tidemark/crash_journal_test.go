package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/failpoint"
)

const socketPipeline = `
[sources.in]
plugin  = "socket"
listen  = "${LISTEN}"
decode  = { format = "delimited", fields = ["connection:int", "line:int", "padding"] }
journal = { segment = "1MiB", sync = "SYNC" }

[sources.in.time]
assigner = "processing"

[sinks.out]
plugin = "file"
path   = "out.txt"
format = "raw"
inputs = ["in"]

[checkpoint]
interval     = "20ms"
min_interval = "5ms"
`

// freeAddress is an address at which nobody listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// padding makes lines long enough for the journal to have many segments.
var padding = strings.Repeat("x", 2000)

// sender sends each line once, over one connection after the other, whatever becomes of it.
type sender struct {
	address string
	sent    []int // lines of each connection
}

// talk connects, sends n lines while p lives, and reports whether all of them went out.
func (s *sender) talk(p *program, n int) bool {
	var c net.Conn
	if !eventually(func() (ok bool) {
		var err error
		c, err = net.Dial("tcp", s.address)
		return err == nil || p.ended()
	}) || c == nil {
		return false
	}
	defer c.Close()
	s.sent = append(s.sent, 0)
	this := len(s.sent) - 1
	w := bufio.NewWriter(c)
	for i := range n {
		fmt.Fprintln(w, this, i, padding)
		if i%20 == 19 {
			if w.Flush() != nil {
				return false
			}
			time.Sleep(time.Millisecond)
		}
		s.sent[this] = i + 1
	}
	return w.Flush() == nil
}

// check requires what has arrived of each connection to be its beginning: each line once, in order, without a gap.
func (s *sender) check(t *testing.T, rows []string) (lost int) {
	t.Helper()
	next := make([]int, len(s.sent))
	for _, row := range rows {
		var connection, line int
		_, err := fmt.Sscan(row, &connection, &line)
		require.NoError(t, err, row)
		require.Equal(t, next[connection], line, "connection %d", connection)
		next[connection]++
	}
	for i, n := range next {
		lost += s.sent[i] - n
	}
	return lost
}

// TestCrashOfASocket kills the program while it reads from a socket. What it had read is in the journal, or it is lost with what was
// still in the system's buffers: of each connection the beginning arrives, exactly once.
func TestCrashOfASocket(t *testing.T) {
	t.Parallel()
	type death struct {
		place string
		hits  []int
	}
	deaths := []death{{"", []int{1, 2, 3, 4, 5, 6}}}
	path := binary
	if !testing.Short() {
		var err error
		path, err = fragile()
		require.NoError(t, err)
		for _, place := range []string{failpoint.JournalAppended, failpoint.JournalRotate, failpoint.JournalTruncated, failpoint.CommitEnd} {
			deaths = append(deaths, death{place, []int{1, 3, 10}})
		}
	}
	for _, sync := range []string{"commit", "always"} {
		for _, d := range deaths {
			t.Run(sync+"/"+d.place, func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(9, 9))
				r := &trial{t, t.TempDir()}
				r.write("pipeline.toml", strings.ReplaceAll(socketPipeline, "SYNC", sync))
				s := &sender{address: freeAddress(t)}
				for _, hit := range d.hits {
					env := []string{"LISTEN=" + s.address}
					if d.place != "" {
						env = append(env, fmt.Sprint(failpoint.Variable, "=", d.place, ":", hit))
					}
					p := r.launch(path, []string{"run", "--quiet", "--state", "state", "pipeline.toml"}, env...)
					if d.place == "" {
						go func() {
							shortly(rng, 700*time.Millisecond)
							p.kill()
						}()
					}
					for !p.ended() && s.talk(p, 2000) {
					}
					r.until("it is killed", p.ended)
					require.Equal(t, -1, p.code, p.err.String())
				}
				p := r.launch(path, []string{"run", "--quiet", "--state", "state", "pipeline.toml"}, "LISTEN="+s.address)
				require.True(t, s.talk(p, 100))
				end := fmt.Sprintln(len(s.sent)-1, 99, padding)
				r.until("the last line has come", func() bool { return r.linesIn("out.txt") > 0 && strings.HasSuffix(r.read("out.txt"), "\n"+end) })
				p.stop()
				lost := s.check(t, wholeLines(r.read("out.txt")))
				t.Logf("%v lines were sent, %d of them lost in the system's buffers", s.sent, lost)
			})
		}
	}
}

const httpPipeline = `
[sources.in]
plugin = "http"
listen = "${LISTEN}"
decode = { format = "json", fields = ["id:int"] }

[sources.in.time]
timestamp = "id"
unit      = "ms"
max_out_of_orderness = "1h"

[transforms.once]
type   = "dedup"
inputs = ["in"]
key_by = ["id"]
within = "1h"

[sinks.all]
plugin = "file"
path   = "all.jsonl"
inputs = ["in"]

[sinks.out]
plugin = "file"
path   = "out.jsonl"
inputs = ["once"]

[checkpoint]
interval     = "20ms"
min_interval = "5ms"
`

// TestCrashOfHTTP kills the program while a client sends requests, each again until it is answered with 200. A record that was answered is
// there; it is there more than once only when its request was sent more than once, and a dedup step mends that.
func TestCrashOfHTTP(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 8))
	r := &trial{t, t.TempDir()}
	r.write("pipeline.toml", httpPipeline)
	address := freeAddress(t)
	start := func() *program {
		return r.launch(binary, []string{"run", "--quiet", "--state", "state", "pipeline.toml"}, "LISTEN="+address)
	}
	client := &http.Client{Timeout: 10 * time.Second}
	kills := 8
	p := start()
	again := map[int]bool{} // records of requests that were sent more than once
	next, requests := 0, 0
	for killed := 0; killed < kills || requests < 40; requests++ {
		var body bytes.Buffer
		n := 1 + rng.IntN(300)
		for i := range n {
			fmt.Fprintf(&body, "{\"id\":%d}\n", next+i)
		}
		killer := make(chan struct{})
		if killed < kills && rng.IntN(3) == 0 {
			killed++
			go func(p *program, pause time.Duration) {
				defer close(killer)
				time.Sleep(pause)
				p.kill()
			}(p, time.Duration(rng.IntN(30))*time.Millisecond)
		} else {
			close(killer)
		}
		for try := 0; ; try++ {
			require.Less(t, try, 300, p.err.String())
			answer, err := client.Post("http://"+address+"/", "application/x-ndjson", bytes.NewReader(body.Bytes()))
			if err == nil {
				answer.Body.Close()
				if answer.StatusCode == http.StatusOK {
					break
				}
			}
			if try == 0 {
				for i := range n {
					again[next+i] = true
				}
			}
			if p.ended() {
				p = start()
			}
			time.Sleep(20 * time.Millisecond)
		}
		next += n
		<-killer
		if p.ended() {
			p = start()
		}
	}
	r.until("it listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	p.stop()

	ids := func(name string) (out []int) {
		for _, line := range wholeLines(r.read(name)) {
			var id int
			_, err := fmt.Sscanf(line, `{"id":%d}`, &id)
			require.NoError(t, err, line)
			out = append(out, id)
		}
		return out
	}
	seen := map[int]int{}
	for _, id := range ids("all.jsonl") {
		seen[id]++
	}
	once := ids("out.jsonl")
	slices.Sort(once)
	require.Len(t, once, next, "each answered record, once")
	for id := range next {
		require.Equal(t, id, once[id])
		require.Positive(t, seen[id])
		if !again[id] {
			require.Equal(t, 1, seen[id], "record %d was sent once", id)
		}
	}
	t.Logf("%d requests with %d records, %d of them sent again", requests, next, len(again))
}
