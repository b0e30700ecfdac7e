package host

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// daemonKey makes the test binary a daemon that runs a plugin until it is killed.
const daemonKey = "HOST_TEST_DAEMON"

// beDaemon is that daemon: it tells the plugin's process number and lives on.
func beDaemon(plugin string) {
	h, err := New(Settings{GuardArgs: []string{GuardCommand}})
	if err != nil {
		panic(err)
	}
	v := h.Plugins([]*config.PluginPolicy{{Kind: "source", Name: "numbers", Path: plugin, Env: map[string]string{"MISBEHAVE": os.Getenv("MISBEHAVE"), "NOTE": os.Getenv("NOTE")}}}, "")
	s, err := v.OpenSource(context.Background(), wire.SourceOpen{Plugin: "numbers", Options: []byte(`{"forever":true,"pause":"1ms"}`)}, OwnProcess)
	if err != nil {
		panic(err)
	}
	fmt.Println(h.Processes()[0].PID, h.dir)
	for {
		e, err := s.Recv()
		if err != nil {
			panic(err)
		}
		if e.Batch != nil {
			e.Batch.Release()
		}
	}
}

func TestNoOrphansWhenTheDaemonIsKilled(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	daemon := exec.Command(self)
	// A folder of its own, and short enough for sockets: other tests of the machine remove what dead daemons have left as well.
	dir, err := os.MkdirTemp("", "orphans-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	daemon.Env = append(os.Environ(), daemonKey+"="+executable(), "TMPDIR="+dir)
	daemon.Stderr = os.Stderr
	out, err := daemon.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, daemon.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	words := strings.Fields(line)
	pid, err := strconv.Atoi(words[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, 0), "the plugin lives")
	require.NoError(t, daemon.Process.Kill())
	_ = daemon.Wait()
	require.Eventually(t, func() bool { return gone(pid) }, 10*time.Second, 10*time.Millisecond)
	require.DirExists(t, words[1])
	newHost(t, Settings{RuntimeDir: dir})
	require.NoDirExists(t, words[1], "the next daemon removes what the killed one has left")
}

// What a plugin has started is told of neither by the kernel nor by a pipe; the guard ends it.
func TestNoGrandchildrenWhenTheDaemonIsKilled(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "orphans-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	note := filepath.Join(dir, "note")
	daemon := exec.Command(self)
	daemon.Env = append(os.Environ(), daemonKey+"="+executable(), "TMPDIR="+dir, "MISBEHAVE=child", "NOTE="+note)
	daemon.Stderr = os.Stderr
	out, err := daemon.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, daemon.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	text, err := os.ReadFile(note)
	require.NoError(t, err)
	var live []int
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		require.NoError(t, err)
		if !gone(pid) { // one process was asked what it is, and has ended
			live = append(live, pid)
		}
	}
	require.Len(t, live, 2, "the plugin, and what it has started")
	require.NoError(t, daemon.Process.Kill())
	_ = daemon.Wait()
	for _, pid := range live {
		require.Eventually(t, func() bool { return gone(pid) }, 10*time.Second, 10*time.Millisecond, "%d of %v lives on", pid, live)
	}
}

// The guard kills the groups that it was told of and not told of again, and nothing else.
func TestTheGuardEndsTheGroupsThatAreLeft(t *testing.T) {
	var group []*exec.Cmd
	for range 2 {
		cmd := exec.Command("sleep", "1000")
		outOfGroup(cmd)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		group = append(group, cmd)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	guarding := exec.Command(self, GuardCommand)
	in, err := guarding.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, guarding.Start())
	left, ended := group[0].Process.Pid, group[1].Process.Pid
	fmt.Fprintf(in, "+%d\n+%d\nnonsense\n\n-%d\n+0\n+1\n", left, ended, ended)
	require.NoError(t, in.Close())
	require.NoError(t, guarding.Wait())
	require.Error(t, group[0].Wait())
	require.False(t, gone(ended))
}

// Where the kernel cannot help, the pipe alone ends a plugin whose daemon is gone.
func TestAPluginEndsWhenItsPipeDoes(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	plugin := exec.Command(executable())
	plugin.Env = []string{wire.CookieKey + "=" + wire.CookieValue, wire.LivenessKey + "=3", "PLUGIN_PROTOCOL_VERSIONS=1", "PLUGIN_UNIX_SOCKET_DIR=" + t.TempDir()}
	plugin.ExtraFiles = []*os.File{r}
	out, err := plugin.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, plugin.Start())
	require.NoError(t, r.Close())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Regexp(t, handshakeRule, strings.TrimSpace(line))
	require.NoError(t, w.Close())
	ended := make(chan error, 1)
	go func() { ended <- plugin.Wait() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = plugin.Process.Kill()
		t.Fatal("the plugin lives on")
	}
}

func TestAPluginThatIsStartedByHandSaysWhatItIs(t *testing.T) {
	out, err := exec.Command(executable()).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), `This is a Tidemark plugin: the source "numbers"`)
	require.Contains(t, string(out), "started by tidemark and not by hand")
}

// gone is true for a process that has ended. A process whose parent has gone is taken over by the first process, which may take its time
// to bury it.
func gone(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == syscall.ESRCH
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}
