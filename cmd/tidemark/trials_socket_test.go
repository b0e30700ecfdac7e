package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/stretchr/testify/require"
)

// socketTrials are about connections, back-pressure and files that are followed.
var socketTrials = []trialCase{
	{"058-server-closes-in-the-middle-of-a-line", func(t *trial) {
		f := t.feed()
		p := t.tidemark([]string{"run", "--json", "--log-level", "info", "--state", "state", "pipeline.toml"}, f.env())
		record := func(second int) string { return fmt.Sprintf(`{"k":"n","ts":%d}`, 1700000000000+1000*second) + "\n" }
		seen := func(n int) {
			t.Helper()
			t.until(fmt.Sprint(n, " records"), func() bool { return t.linesIn("records.jsonl") == n })
		}
		f.send(record(1) + record(2))
		seen(2)
		f.send(`{"k":"n","ts":17000000`)
		f.close()
		f.send("04000}\n" + record(5))
		seen(3)
		f.reset()
		f.send(record(6))
		seen(4)
		f.close()
		f.send(record(30))
		t.until("a row", func() bool { return len(p.out.lines()) >= 1 })
		p.stop()
		t.same("expect.jsonl", "k", p.rows())
		p.counted(0, 2)
		t.lettersAre("pipeline", `{"k":"n","ts":17000000`, "04000}")
		require.NotContains(t, t.read("records.jsonl"), "04000", "two connections glued together")
		require.Equal(t, 4, strings.Count(p.err.String(), "connected:"), "a line for each connection")
		require.Equal(t, 3, strings.Count(p.err.String(), "connection ended:"))

		// The same where the source listens and the sender goes away and comes back.
		require.NoError(t, os.Remove(t.path("records.jsonl")))
		p = t.tidemark([]string{"run", "--json", "--log-level", "info", "--state", "state", "listen.toml"})
		address := ""
		t.until("it listens", func() bool {
			m := regexp.MustCompile(`listening: .*listen="?([0-9.:]+)`).FindStringSubmatch(p.err.String())
			if m != nil {
				address = m[1]
			}
			return m != nil
		})
		say := func(text string) *net.TCPConn {
			t.Helper()
			c, err := net.Dial("tcp", address)
			require.NoError(t, err)
			_, err = c.Write([]byte(text))
			require.NoError(t, err)
			return c.(*net.TCPConn)
		}
		c := say(record(1) + record(2) + `{"k":"n","ts":17000000`)
		seen(2)
		require.NoError(t, c.Close())
		c = say("04000}\n" + record(5))
		seen(3)
		require.NoError(t, c.SetLinger(0))
		require.NoError(t, c.Close())
		c = say(record(6))
		seen(4)
		require.NoError(t, c.Close())
		c = say(record(30))
		defer c.Close()
		t.until("a row", func() bool { return len(p.out.lines()) >= 1 })
		p.stop()
		t.same("expect.jsonl", "k", p.rows())
		p.counted(0, 2)
		t.lettersAre("listen", `{"k":"n","ts":17000000`, "04000}")
	}},
	{"060-over-long-line-on-a-socket", func(t *trial) {
		f := t.feed()
		p := t.start("pipeline.toml", f.env())
		f.plan("input.plan.jsonl") // closes at its end
		f.lines(`{"k":"end","ts":1700000030000}`)
		t.until("a row", func() bool { return len(p.out.lines()) >= 1 })
		require.Equal(t, 2, f.accepted, "one connection up to the end, and one after it")
		// A line without an end: the next record shows that all of it has been read.
		for range 100 {
			f.send(strings.Repeat("z", 1<<20))
		}
		f.send("\n" + `{"k":"end","ts":1700000050000}` + "\n")
		t.until("another row", func() bool { return len(p.out.lines()) >= 2 })
		p.usesLessThan(150 << 20)
		p.stop()
		t.same("expect.jsonl", "k", p.rows()[:1])
		p.counted(0, 3)
		letters := t.letters("pipeline")
		require.Len(t, letters, 3)
		for i, length := range []int64{3_000_000, 3_000_004, 100 << 20} {
			require.Equal(t, length, letters[i].RawLength)
			require.Less(t, len(letters[i].Raw), 100_000, "its beginning")
		}
	}},
	{"061-character-split-over-packets", func(t *trial) {
		f := t.feed()
		p := t.start("pipeline.toml", f.env())
		f.plan("input.plan.jsonl")
		t.until("a record", func() bool { return len(p.out.lines()) >= 1 })
		p.stop()
		require.Equal(t, render(t.file("expect.jsonl"), whole), render(p.rows(), whole))
		p.counted(0, 0)
	}},
	{"062-blocked-sink-and-memory", func(t *trial) {
		f, other, r := t.feed(), t.feed(), t.receiver()
		r.rule(func(int, []byte) int { return 0 })
		p := t.tidemark([]string{"run", "--stop-timeout", "2s", "--state", "state", "blocked.toml", "other.toml"},
			f.env(), strings.Replace(other.env(), "FEED", "OTHER", 1), r.env())

		// The sender sends until it has to wait.
		var lines atomic.Int64
		var enough atomic.Bool
		const most = 10_000_000
		sent := make(chan struct{})
		conn := f.need()
		go func() {
			defer close(sent)
			var block []byte
			for n := int64(0); n < most && !enough.Load(); {
				block = block[:0]
				for range 500 {
					block = fmt.Appendf(block, `{"id":%d,"pad":"%060d"}`+"\n", n, n)
					n++
				}
				if _, err := conn.Write(block); err != nil {
					return
				}
				lines.Store(n)
			}
		}()
		blocked := func() bool {
			for last, still := lines.Load(), 0; ; {
				if still == 20 {
					return true
				}
				t.pause()
				if now := lines.Load(); now != last {
					last, still = now, 0
				} else {
					still++
				}
			}
		}
		t.until("the sender waits", func() bool { return lines.Load() > 0 && blocked() })
		require.Less(t, lines.Load(), int64(most))
		p.usesLessThan(200 << 20)

		other.lines(`{"id": 1}`)
		t.until("the other pipeline works", func() bool { return t.linesIn("other.jsonl") == 1 })

		enough.Store(true)
		r.rule(nil)
		close(r.release)
		<-sent
		t.until("all lines arrive", func() bool { n, _ := r.count(); return int64(n) >= lines.Load() })
		next := int64(0)
		for _, line := range r.got() {
			id, err := strconv.ParseInt(line[len(`{"id":`):strings.IndexByte(line, ',')], 10, 64)
			require.NoError(t, err)
			require.LessOrEqual(t, id, next, "a gap")
			next = max(next, id+1)
		}
		require.Equal(t, lines.Load(), next)

		// A stop while the sink hangs.
		r.release = make(chan struct{})
		defer close(r.release)
		_, requests := r.count()
		r.rule(func(int, []byte) int { return 0 })
		f.lines(`{"id":0,"pad":""}`)
		t.until("a request hangs", func() bool { _, n := r.count(); return n > requests })
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		p.wait()
	}},
	{"063-log-rotated-by-copytruncate", func(t *trial) {
		for _, name := range []string{"pattern", "single"} {
			require.NoError(t, os.RemoveAll(t.path("data")))
			t.write("data/app.log", "")
			p := t.start(name + ".toml")
			n := 0
			part := func(lines int) {
				var b strings.Builder
				for range lines {
					n++
					fmt.Fprintf(&b, `{"id": %d, "k": "k%d", "ts": %d}`+"\n", n, n%3, 1700000000000+100*n)
				}
				t.append("data/app.log", b.String())
			}
			rotate := func(number int) {
				t.until(fmt.Sprint(n, " records"), func() bool { return t.linesIn(name+".jsonl") == n })
				t.write(fmt.Sprint("data/app.log.", number), t.read("data/app.log"))
				require.NoError(t, os.Truncate(t.path("data/app.log"), 0))
			}
			part(50)
			rotate(1)
			part(20)
			rotate(2)
			part(200) // more than before
			rotate(3)
			part(50)
			rotate(4)
			p.stop()
			ids := fields(t.file(name+".jsonl"), "id")
			var want []string
			for i := range n {
				want = append(want, fmt.Sprint(i+1))
			}
			require.Equal(t, want, ids)
			p.counted(0, 0)
		}
	}},
}

// usesLessThan requires that neither the program nor one of its plugins has ever had so much memory.
func (p *program) usesLessThan(bytes int64) {
	p.t.Helper()
	found := 0
	for _, process := range p.left() {
		pid, _, _ := strings.Cut(process, " ")
		status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		kb, err := strconv.ParseInt(strings.TrimSpace(rest[:strings.IndexByte(rest, 'k')]), 10, 64)
		require.NoError(p.t, err)
		require.Less(p.t, kb<<10, bytes, "%s", process)
		found++
	}
	require.GreaterOrEqual(p.t, found, 2, "the program and its plugins")
}
