package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

// daemonTrials are about what a daemon says of itself.
var daemonTrials = []trialCase{
	{"097-ready-before-it-is-ready", func(t *trial) {
		ports := t.freePorts(3)
		feed, r, m := "127.0.0.1:"+ports[2], t.receiver(), t.manager()
		r.shut()
		t.write("grows.jsonl", "")
		// Every assigner takes its time to start.
		t.write("plugins/tidemark-assigner-periodic", fmt.Sprintf("#!/bin/sh\nsleep 1\nexec %s %s\n", binary, host.ServeCommand))
		require.NoError(t, os.Chmod(t.path("plugins/tidemark-assigner-periodic"), 0o755))
		env := []string{"DIR=" + t.dir, "ADMIN=" + ports[0], "PORT=" + ports[1], "FEED=" + feed, r.env(), m.env()}

		// A mistake in the configuration ends it before anybody is told that it is ready.
		bad := t.tidemark([]string{"daemon", "--config", "bad.toml"}, env...)
		require.Equal(t, exitConfig, bad.wait())
		require.Empty(t, m.got())

		p := t.tidemark([]string{"daemon", "--config", "daemon.toml"}, env...)
		page := func(path string) (int, string) {
			answer, err := http.Get("http://127.0.0.1:" + ports[0] + path)
			if err != nil {
				return 0, ""
			}
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			return answer.StatusCode, string(text)
		}
		ready := func() bool { code, _ := page("/readyz"); return code == http.StatusOK }
		misses := func(texts ...string) {
			t.Helper()
			t.until(fmt.Sprint("it is missing: ", texts), func() bool {
				code, text := page("/readyz")
				for _, want := range texts {
					if code != http.StatusServiceUnavailable || !strings.Contains(text, want) {
						return false
					}
				}
				return true
			})
		}
		misses("the daemon has not read all pipelines' files yet")
		code, _ := page("/livez")
		require.Equal(t, http.StatusOK, code, "alive and ready are two things")
		require.Zero(t, m.count("READY=1"))
		misses("listens: it opens source in")

		t.until("the service manager is told", func() bool { return m.count("READY=1") == 1 })
		conn, err := net.Dial("tcp", "127.0.0.1:"+ports[1])
		require.NoError(t, err, "whoever was waiting for the daemon can connect at once")
		defer conn.Close()
		misses("broker: source in is not connected", "missing: source in finds nothing to read")
		_, text := page("/readyz")
		require.NotContains(t, text, "once:")
		require.NotContains(t, text, "sends:", "a sink that had nothing to take yet is no fault")

		l, err := net.Listen("tcp", feed)
		require.NoError(t, err)
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
			}
		}()
		t.write("not-yet.jsonl", t.read("input.jsonl"))
		t.until("all is there", ready)

		// A sink that takes nothing is a fault as soon as there is something to take.
		t.grow(wholeLines(t.read("input.jsonl"))...)
		misses("sends: sink out takes nothing since")
		r.open()
		t.until("the sink is back", ready)

		// So is a plugin that has died.
		c := api.OfState(t.path("state"))
		defer c.Close()
		listens := func() *api.Pipeline {
			t.Helper()
			one, err := c.Pipeline(context.Background(), "listens")
			require.NoError(t, err)
			return one
		}
		one := listens()
		for _, proc := range one.Processes {
			if proc.Kind == "source" {
				require.NoError(t, syscall.Kill(proc.PID, syscall.SIGKILL))
			}
		}
		misses("listens: it failed, and waits for its next attempt")
		t.until("the plugin is back", ready)
		require.Equal(t, 1, listens().Status.Restarts)
		ended, err := c.Pipeline(context.Background(), "once")
		require.NoError(t, err)
		require.Equal(t, pipeline.Finished, ended.Status.State, "and does not count")

		again, err := net.Dial("tcp", "127.0.0.1:"+ports[1])
		require.NoError(t, err)
		_, err = io.WriteString(again, t.read("input.jsonl")+steadyEnd(120)+"\n")
		require.NoError(t, err)
		require.NoError(t, again.Close())
		t.until("all rows", func() bool { return t.linesIn("out.jsonl") >= 20 })
		p.stop()
		p.gone()
		t.same("expect.jsonl", "key", t.file("out.jsonl"))
		t.same("expect.jsonl", "key", t.file("once.jsonl"))
		require.Equal(t, 1, m.count("READY=1"), "once")
		require.Equal(t, 1, m.count("STOPPING=1"))
	}},
	{"099-watchdog-and-slow-stop", func(t *trial) {
		r, m := t.receiver(), t.manager()
		lines := wholeLines(t.read("input.jsonl"))
		t.write("grows.jsonl", "")
		start := func(env ...string) *program {
			return t.tidemark([]string{"daemon", "--config", "daemon.toml"}, append([]string{"DIR=" + t.dir, r.env()}, env...)...)
		}
		watched := []string{m.env(), "WATCHDOG_USEC=1000000"}
		lives := func(what string) {
			t.Helper()
			before := m.count("WATCHDOG=1")
			t.until("it says that it lives, "+what, func() bool { return m.count("WATCHDOG=1") >= before+4 })
		}
		p := start(watched...)
		t.until("ready", func() bool { return m.count("READY=1") == 1 })
		t.grow(lines[:30]...)
		t.seen(30)
		lives("while all is well")

		// A sink that hangs is no reason to end the daemon.
		r.rule(func(int, []byte) int { return 0 })
		t.grow(lines[30:60]...)
		t.seen(60)
		lives("while a sink hangs")

		// Nor is a plugin that hangs: it is ended, and its pipeline goes on.
		c := api.OfState(t.path("state"))
		defer c.Close()
		assigner := func() (pid int) {
			one, err := c.Pipeline(context.Background(), "steady")
			require.NoError(t, err)
			for _, proc := range one.Processes {
				if proc.Kind == "assigner" {
					pid = proc.PID
				}
			}
			return pid
		}
		hangs := assigner()
		require.NoError(t, syscall.Kill(hangs, syscall.SIGSTOP))
		t.grow(lines[60:65]...)
		t.until("the plugin is ended", func() bool { return errors.Is(syscall.Kill(hangs, 0), syscall.ESRCH) })
		t.seen(65)
		lives("after a plugin hung")
		require.NotEqual(t, hangs, assigner())

		// Being frozen is: nothing is said any more, and what the service manager does then loses nothing.
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
		t.until("it is silent", func() bool {
			before := len(m.got())
			for range 15 {
				t.pause()
			}
			return len(m.got()) == before
		})
		p.kill()
		close(r.release)
		r.rule(nil)
		p = start(watched...)
		t.until("ready again", func() bool { return m.count("READY=1") == 2 })

		// A stop says so at once and asks for time; what was committed is delivered before it ends.
		hold := make(chan struct{})
		r.rule(func(int, []byte) int { <-hold; return http.StatusOK })
		t.grow(lines[65:]...)
		t.grow(steadyEnd(120))
		t.seen(121)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		t.until("the stop is told", func() bool { return m.count("STOPPING=1") == 1 && m.count("EXTEND_TIMEOUT_USEC=") >= 2 })
		lives("while it stops")
		close(hold)
		require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
		p.gone()
		t.same("expect.jsonl", "key", last(t.rows(r.got()), "key"))

		// No manager, and one that reads nothing.
		for _, env := range [][]string{nil, {t.deafManager(), "WATCHDOG_USEC=20000"}, {"NOTIFY_SOCKET=" + t.path("nobody")}} {
			p := start(env...)
			t.until("it runs", func() bool {
				h, err := c.Health(context.Background())
				return err == nil && h.Ready
			})
			p.stop()
			p.gone()
		}
	}},
}

// manager is a service manager that hears what the daemon says.
type manager struct {
	path string
	mu   sync.Mutex
	said []string
}

func (t *trial) manager() *manager {
	t.Helper()
	m := &manager{path: filepath.Join(t.TempDir(), "notify")}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.said = append(m.said, string(buf[:n]))
			m.mu.Unlock()
		}
	}()
	return m
}

// deafManager never reads what it is told. It returns the variable that names it.
func (t *trial) deafManager() string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return "NOTIFY_SOCKET=" + path
}

func (m *manager) env() string { return "NOTIFY_SOCKET=" + m.path }

func (m *manager) got() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.said...)
}

// count is how often something was said that begins so.
func (m *manager) count(text string) (n int) {
	for _, said := range m.got() {
		if strings.HasPrefix(said, text) {
			n++
		}
	}
	return n
}

// freePorts are ports that nobody listens on.
func (t *trial) freePorts(n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close() // all at the end, so that they differ
		_, port, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		ports = append(ports, port)
	}
	return ports
}
