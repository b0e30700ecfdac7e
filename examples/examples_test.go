// Package examples_test runs every example as a user would: the built program, plugins as processes of their own, from the
// repository's root.
package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	program string // the built tidemark
	plugins string // the folder of the built plugins
)

// executables are the examples that are plugins, and what they are called as one.
var executables = map[string]string{
	"source-watermarks":   "tidemark-source-numbers",
	"periodic-assigner":   "tidemark-assigner-highest",
	"punctuated-assigner": "tidemark-assigner-marked",
	"window-plugins":      "tidemark-plugins-trades",
}

func TestMain(m *testing.M) {
	code, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func build(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "tidemark-examples-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program, plugins = filepath.Join(dir, "tidemark"), filepath.Join(dir, "plugins")
	targets := map[string]string{"./cmd/tidemark": program}
	for example, name := range executables {
		targets["./examples/"+example] = filepath.Join(plugins, name)
	}
	for target, out := range targets {
		cmd := exec.Command("go", "build", "-o", out, target)
		cmd.Dir = ".."
		if text, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("build %s: %w\n%s", target, err, text)
		}
	}
	return m.Run(), nil
}

// command runs an example's pipeline from the repository's root.
func command(t *testing.T, example string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, "--plugin-dir", plugins, "run", "examples/"+example+"/pipeline.toml")
	cmd.Dir = ".."
	return cmd
}

func expected(t *testing.T, path string) []string {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// The examples that read a finite input print what stands beside them.
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		name, expected string
		ordered        bool // one sink: the order of its rows is part of the answer
		summary        string
	}{
		{"quickstart", "expected.jsonl", true, "20,000 records in, 5 windows fired, 40 results, 0 late, 0 dead-lettered"},
		{"source-watermarks", "expected.txt", false, "5 records in"},
		{"periodic-assigner", "expected.txt", false, "5 results, 2 late"},
		{"punctuated-assigner", "expected.txt", false, "5 results, 2 late"},
		{"marker", "expected.txt", false, "5 results, 1 late"},
		{"window-plugins", "expected.txt", false, "9 records in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, c.name)
			var out, log bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &log
			require.NoError(t, cmd.Run(), log.String())
			got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			want := expected(t, filepath.Join(c.name, c.expected))
			if c.ordered {
				require.Equal(t, want, got)
			} else {
				require.ElementsMatch(t, want, got)
				require.Equal(t, keep(want, "{"), keep(got, "{"), "rows of one sink come in order")
				require.Equal(t, keep(want, "event"), keep(got, "event"))
			}
			require.Contains(t, log.String(), c.summary)
			requireNoProcess(t)
		})
	}
}

func keep(lines []string, prefix string) (out []string) {
	for _, l := range lines {
		if strings.HasPrefix(l, prefix) {
			out = append(out, l)
		}
	}
	return out
}

// requireNoProcess looks for processes of this test's own plugin executables; those of the shipped ones have the program's name with the
// arguments of a plugin.
func requireNoProcess(t *testing.T) {
	procs, err := filepath.Glob("/proc/[0-9]*/exe")
	require.NoError(t, err)
	for _, p := range procs {
		exe, err := os.Readlink(p)
		if err == nil && strings.HasPrefix(exe, plugins+string(filepath.Separator)) {
			parent, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "stat"))
			fields := strings.Fields(string(parent))
			require.Greater(t, len(fields), 3)
			require.NotEqual(t, "1", fields[3], "%s was left behind", exe)
		}
	}
}

// lines collects a program's output line by line.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) read(r io.Reader) {
	for s := bufio.NewScanner(r); s.Scan(); {
		l.mu.Lock()
		l.all = append(l.all, s.Text())
		l.mu.Unlock()
	}
}

func (l *lines) now() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.all...)
}

// The session of the README, with the server started after Tidemark.
func TestSocketWindow(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	address := ln.Addr().String()
	require.NoError(t, ln.Close())

	cmd := command(t, "socket-window")
	cmd.Env = append(os.Environ(), "EXAMPLE_ADDRESS="+address)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var log bytes.Buffer
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	var out lines
	done := make(chan struct{})
	go func() { out.read(pipe); close(done) }()

	ln, err = net.Listen("tcp", address)
	require.NoError(t, err)
	defer ln.Close()
	require.NoError(t, ln.(*net.TCPListener).SetDeadline(time.Now().Add(40*time.Second)))
	conn, err := ln.Accept()
	require.NoError(t, err)
	defer conn.Close()
	var want []string
	for _, step := range []struct {
		send string
		want []string
	}{
		{"a 1\na 4\nb 3\na 9\n", nil},
		{"a 10\n", []string{"窗口中共有 2 条元素", "2 elements in the window of a", "窗口中共有 1 条元素", "1 elements in the window of b"}},
		{"b 14\na 15\n", []string{"窗口中共有 1 条元素", "1 elements in the window of a"}},
	} {
		_, err = io.WriteString(conn, step.send)
		require.NoError(t, err)
		want = append(want, step.want...)
		require.Eventually(t, func() bool { return len(out.now()) >= len(want) }, 30*time.Second, 10*time.Millisecond, "%q", out.now())
		require.ElementsMatch(t, want, out.now())
	}
	// Interrupted, it stops where it is: windows that are not complete print nothing.
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	<-done
	require.NoError(t, cmd.Wait(), log.String())
	require.ElementsMatch(t, want, out.now())
	require.Contains(t, log.String(), "7 records in")
}
