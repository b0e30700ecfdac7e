package host

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// What a plugin does wrong before it is ready: one failure each, with its own reason and words.
func TestPluginsThatDoNotStart(t *testing.T) {
	for _, c := range []struct {
		how    string
		reason Reason
		says   []string
	}{
		{"noise_only", StartTimeout, []string{"has not said that it is a plugin within 300ms", "I am the very model"}},
		{"exit", StartFailed, []string{"ended before it was ready (exit status 7)", "cannot find my licence"}},
		{"exit_quietly", NotAPlugin, []string{"ended without saying that it is a plugin"}},
		{"other_version", WrongVersion, []string{"speaks version 9", "this tidemark speaks version 1", "upgrade tidemark"}},
		{"other_cookie", NotAPlugin, []string{"plugin for another program"}},
		{"no_server", NotAPlugin, []string{"shook hands, but does not answer"}},
	} {
		t.Run(c.how, func(t *testing.T) {
			h, _ := newHost(t, Settings{StartTimeout: 300 * time.Millisecond})
			_, err := misbehaving(h, sdk.KindSource, "numbers", c.how).Describe(sdk.KindSource, "numbers")
			var f *Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, c.reason, f.Reason, err.Error())
			for _, words := range append(c.says, executable()) {
				require.Contains(t, f.Error(), words)
			}
			require.NotContains(t, f.Error(), "\n")
			require.Regexp(t, `^TM41\d\d$`, f.Problem().Code)
			require.Empty(t, h.Processes())
		})
	}
}

// A plugin chooses no address for the daemon: it could name a socket that only the daemon may open.
func TestTheDaemonConnectsToThePluginsOwnSocketOnly(t *testing.T) {
	dir, err := os.MkdirTemp("", "host-")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	other, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	defer other.Close()
	for how, says := range map[string]string{"elsewhere": "does not stand in PLUGIN_UNIX_SOCKET_DIR", "linked": "is no socket", "tcp": "and not on a unix socket"} {
		h, _ := newHost(t, Settings{StartTimeout: 5 * time.Second})
		_, err := misbehaving(h, sdk.KindSource, "numbers", how, "SOCKET", other.Addr().String()).Describe(sdk.KindSource, "numbers")
		var f *Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, NotAPlugin, f.Reason)
		require.ErrorContains(t, err, says, how)
		require.Empty(t, h.Processes())
	}
	require.NoError(t, other.(*net.UnixListener).SetDeadline(time.Now()))
	_, err = other.Accept()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "nobody has come")
}

// What is odd, but does no harm.
func TestPluginsThatAreNoisyAndWork(t *testing.T) {
	for how, logged := range map[string]string{"noise": "Loading configuration", "long_noise": "xxxxxxxx", "stderr_flood": "noise noise"} {
		t.Run(how, func(t *testing.T) {
			h, log := newHost(t, Settings{})
			s := openNumbers(t, misbehaving(h, sdk.KindSource, "numbers", how), `{"count": 2}`)
			_, err := drain(t, s)
			require.NoError(t, err)
			require.Eventually(t, func() bool { return strings.Contains(log.String(), logged) }, 10*time.Second, 5*time.Millisecond)
			require.Contains(t, log.String(), "plugin=numbers")
			if how == "stderr_flood" {
				require.Contains(t, log.String(), "lines_left_out=")
				require.Less(t, len(log.String()), 1<<20, "of more than 4 MiB")
			} else {
				require.NotContains(t, log.String(), "[WARN]")
			}
		})
	}
}

// What goes wrong while a source runs.
func TestSourcesThatFail(t *testing.T) {
	for _, c := range []struct {
		how    string
		reason Reason
		says   string
	}{
		{"error", "", "source numbers: the well has run dry"},
		{"panic", "", "panic: the roof is on fire"},
		{"crash", Died, "the process has ended (exit status 2); its last words: panic: the roof has come down, at main.go:"},
		{"exit", Died, "the process has ended (exit status 3); its last words: the well is poisoned"},
		{"hang", Hung, "has not answered a health check for 200ms"},
	} {
		t.Run(c.how, func(t *testing.T) {
			h, _ := newHost(t, Settings{HealthInterval: 50 * time.Millisecond, HealthTimeout: 200 * time.Millisecond})
			s := openNumbers(t, h.Plugins(nil, ""), `{"count":100,"pause":"100us","fail":"`+c.how+`"}`)
			_, err := drain(t, s)
			require.ErrorContains(t, err, c.says)
			if c.reason != "" {
				var f *Failure
				require.ErrorAs(t, err, &f)
				require.Equal(t, c.reason, f.Reason)
			}
			require.NoError(t, s.Close())
			require.Empty(t, h.Processes())
		})
	}
}

func TestAnAssignerThatDiesOrHangs(t *testing.T) {
	for how, c := range map[string]struct {
		reason Reason
		says   string
	}{
		"exit":  {Died, "exit status 5"},
		"panic": {"", "panic: three!"},
		"sleep": {Hung, "has not answered a call for 200ms"},
	} {
		t.Run(how, func(t *testing.T) {
			h, _ := newHost(t, Settings{HealthInterval: 50 * time.Millisecond, CallTimeout: 200 * time.Millisecond, HealthTimeout: 10 * time.Second})
			a := openBounded(t, h.Plugins(nil, ""), OwnProcess, `{"fail":"`+how+`"}`, true, 1)
			require.NoError(t, a.AddPartition(0, "p", nil))
			require.NoError(t, a.Assign(events(5, func(i int) int64 { return int64(i) })))
			_, err := a.Recv()
			require.ErrorContains(t, err, c.says)
			if c.reason != "" {
				var f *Failure
				require.ErrorAs(t, err, &f)
				require.Equal(t, c.reason, f.Reason)
			}
			_, again := a.Recv()
			require.Equal(t, err, again, "an error is final")
		})
	}
}

func TestATransformThatLiesIsFoundOut(t *testing.T) {
	h, _ := newHost(t, Settings{})
	tr, err := h.Plugins(nil, "").OpenTransform(context.Background(), wire.TransformOpen{Plugin: "broken"}, OwnProcess)
	require.NoError(t, err)
	defer tr.Close()
	require.NoError(t, tr.Process(events(3, func(i int) int64 { return 0 })))
	_, err = tr.Recv()
	require.ErrorContains(t, err, "row 5000000")
}

func TestASinkThatHangsMeetsItsDeadline(t *testing.T) {
	h, _ := newHost(t, Settings{CallTimeout: 100 * time.Millisecond})
	s, err := h.Plugins(nil, "").OpenSink(context.Background(), wire.SinkOpen{Plugin: "file", Options: []byte(`{"path":"/dev/null","hang":true}`)}, OwnProcess)
	require.NoError(t, err)
	err = s.Write(context.Background(), 1, lines("a"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, Hung, f.Reason)
	require.ErrorContains(t, err, "it has not answered a call for 100ms")
	require.NoError(t, s.Close(), "nothing is left to be closed")
	require.Empty(t, h.Processes())
}

// A factory that never returns is no reason to wait for ever.
func TestAPluginThatDoesNotOpenMeetsItsDeadline(t *testing.T) {
	h, _ := newHost(t, Settings{CallTimeout: 200 * time.Millisecond})
	_, err := h.Plugins(nil, "").OpenAssigner(context.Background(), wire.AssignerOpen{Plugin: "bounded", Options: []byte(`{"fail":"factory"}`)}, OwnProcess)
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, Hung, f.Reason)
	require.ErrorContains(t, err, "it has not opened within 200ms")
	require.Empty(t, h.Processes())

	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = h.Plugins(nil, "").OpenAssigner(ctx, wire.AssignerOpen{Plugin: "bounded", Options: []byte(`{"fail":"factory"}`)}, OwnProcess)
	require.Error(t, err)
	require.False(t, errors.As(err, &f) && f.Reason == Hung, "who gives up first is not told that it was the plugin")
}

// A plugin's own children go with it, though they hold its standard output.
func TestNoProcessIsLeft(t *testing.T) {
	note := filepath.Join(t.TempDir(), "pids")
	h, _ := newHost(t, Settings{})
	s := openNumbers(t, misbehaving(h, sdk.KindSource, "numbers", "child", "NOTE", note), `{"forever":true,"pause":"1ms"}`)
	_, err := s.Recv()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, pid := range pids(t, note) {
		require.Eventually(t, func() bool { return gone(pid) }, 5*time.Second, 10*time.Millisecond)
	}
}

func TestAStoppedProcessIsKilledWhenTheHostCloses(t *testing.T) {
	h, _ := newHost(t, Settings{})
	s := openNumbers(t, h.Plugins(nil, ""), `{"forever":true,"pause":"1ms"}`)
	pid := h.Processes()[0].PID
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	start := time.Now()
	require.NoError(t, s.Close())
	require.Less(t, time.Since(start), 5*time.Second)
	require.Equal(t, syscall.ESRCH, syscall.Kill(pid, 0))
}

func TestFilesThatCannotBeRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("tidemark-source-plain", "#!/bin/sh\n", 0o600)
	write("tidemark-source-empty", "", 0o700)
	write("tidemark-source-text", "hello", 0o700)
	write("tidemark-source-script", "#!/usr/bin/no-such-interpreter\n", 0o700)
	own, err := os.ReadFile(executable())
	require.NoError(t, err)
	own[18], own[19] = 0xf3, 0x00 // RISC-V
	write("tidemark-source-riscv", string(own), 0o700)
	write("tidemark-source-ls", "#!/bin/sh\necho total 0\n", 0o700)
	h, _ := newHost(t, Settings{Dirs: []string{dir}})
	policies := []*config.PluginPolicy{{Kind: "source", Name: "absent", Path: "no/such/file"}}
	v := h.Plugins(policies, dir)
	for name, says := range map[string]string{
		"plain":  "tidemark-source-plain is not executable (mode -rw-------)",
		"empty":  "tidemark-source-empty is empty",
		"text":   "is neither a Linux program nor a script",
		"script": "is a script for /usr/bin/no-such-interpreter, which is not there",
		"riscv":  "is a program for another machine (EM_RISCV), and this is ",
		"ls":     `ended without saying that it is a plugin; it printed "total 0"`,
		"absent": "there is no file " + filepath.Join(dir, "no/such/file"),
	} {
		_, err := v.Describe(sdk.KindSource, name)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "plugin "+name+" (source, "+dir)
	}
	_, err = v.Describe(sdk.KindSource, "nothing_like_it")
	require.ErrorIs(t, err, ErrNotFound)
}

func TestAFileThatAnybodyMayWriteToIsToldOf(t *testing.T) {
	dir := t.TempDir()
	own, err := os.ReadFile(executable())
	require.NoError(t, err)
	path := filepath.Join(dir, "tidemark-source-numbers")
	require.NoError(t, os.WriteFile(path, own, 0o700))
	h, log := newHost(t, Settings{Dirs: []string{dir}})
	_, err = h.Plugins(nil, "").Describe(sdk.KindSource, "numbers")
	require.NoError(t, err)
	require.NotContains(t, log.String(), "anybody may write")
	require.NoError(t, os.Chmod(path, 0o777))
	now := time.Now()
	require.NoError(t, os.Chtimes(path, now, now)) // another version of the file
	for range 2 {
		_, err = h.Plugins(nil, "").Describe(sdk.KindSource, "numbers")
		require.NoError(t, err)
	}
	require.Equal(t, 1, strings.Count(log.String(), "anybody may write to this plugin's file"), log.String())
	require.Contains(t, log.String(), path)
}

func TestAPinnedFileMustBeTheOneThatWasPinned(t *testing.T) {
	found, err := digestOf(executable())
	require.NoError(t, err)
	h, _ := newHost(t, Settings{})
	wrong := strings.Repeat("3c", 32)
	policy := &config.PluginPolicy{Kind: "source", Name: "numbers", SHA256: []string{wrong}, Spots: map[string]problem.Place{"sha256": {File: "etc/tidemark.toml", Line: 8, Column: 1}}}
	_, err = h.Plugins([]*config.PluginPolicy{policy}, "").OpenSource(context.Background(), wire.SourceOpen{Plugin: "numbers"}, OwnProcess)
	require.ErrorContains(t, err, "its sha256 is "+found+", pinned in etc/tidemark.toml:8:1 is "+wrong)
	require.ErrorContains(t, err, "plugins verify --pin "+executable())
	policy.SHA256 = append(policy.SHA256, found)
	s := openNumbers(t, h.Plugins([]*config.PluginPolicy{policy}, ""), `{"count":1}`)
	require.NoError(t, s.Close())
}

func TestPluginsAreFoundInOrder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink(executable(), filepath.Join(dir, "tidemark-assigner-bounded")))
	require.NoError(t, os.Symlink(executable(), filepath.Join(dir, "tidemark-source-other-name")))
	shipped := []sdk.Plugin{sdk.NewPeriodicAssigner("bounded", "", newHighest), sdk.NewPeriodicAssigner("plain", "", newHighest)}
	h, _ := newHost(t, Settings{Dirs: []string{dir, pluginDir}, Shipped: shipped})
	v := h.Plugins(nil, "")
	var used, hidden []string
	for _, e := range v.List(context.Background()) {
		line := string(e.Kind) + " " + e.Name + " " + filepath.Base(e.Origin()) + ": " + strings.ReplaceAll(strings.ReplaceAll(e.Why, dir, "DIR1"), pluginDir, "DIR2")
		if e.Used {
			used = append(used, line)
		} else {
			hidden = append(hidden, line)
		}
	}
	require.Equal(t, []string{
		"source blob tidemark-plugins-test: it was found in DIR2",
		"source numbers tidemark-plugins-test: it was found in DIR2",
		"source other_name tidemark-source-other-name: it was found in DIR1",
		"assigner bounded tidemark-assigner-bounded: it was found in DIR1",
		"assigner highest tidemark-plugins-test: it was found in DIR2",
		"assigner marks tidemark-plugins-test: it was found in DIR2",
		"assigner plain shipped: it is shipped",
		"transform broken tidemark-plugins-test: it was found in DIR2",
		"transform double tidemark-plugins-test: it was found in DIR2",
		"sink file tidemark-plugins-test: it was found in DIR2",
	}, used)
	require.Len(t, hidden, 2)
	_, err := v.Describe(sdk.KindSource, "other_name")
	require.ErrorContains(t, err, "it serves source numbers, assigner bounded")
}

func TestAMinimalEnvironmentAndWhatIsAllowed(t *testing.T) {
	t.Setenv("SECRET", "swordfish")
	env := strings.Join(environment(&config.PluginPolicy{Env: map[string]string{"B": "2", "A": "1"}}, 3), "\n")
	require.NotContains(t, env, "swordfish")
	require.Contains(t, env, "\nA=1\nB=2")
	require.Contains(t, env, "\nPATH=")
}

func TestMutualTLS(t *testing.T) {
	h, _ := newHost(t, Settings{})
	s := openNumbers(t, h.Plugins([]*config.PluginPolicy{{Kind: "source", Name: "numbers", MTLS: true}}, ""), `{"count":2}`)
	_, err := drain(t, s)
	require.NoError(t, err)
}

func TestLeftoverSocketFoldersAreRemoved(t *testing.T) {
	base := t.TempDir()
	old := filepath.Join(base, "tidemark-999999999-123")
	require.NoError(t, os.Mkdir(old, 0o700))
	removeLeftovers(base)
	require.NoDirExists(t, old)
}
