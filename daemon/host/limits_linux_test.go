package host

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"golang.org/x/sys/unix"
)

func TestLimitsOfAProcess(t *testing.T) {
	h, _ := newHost(t, Settings{})
	policy := &config.PluginPolicy{Kind: "source", Name: "numbers", Path: executable(), Memory: 1 << 30, Files: 100}
	openNumbers(t, h.Plugins([]*config.PluginPolicy{policy}, ""), `{"forever":true,"pause":"1ms"}`)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", h.Processes()[0].PID))
	require.NoError(t, err)
	require.Regexp(t, `Max data size +1073741824 +1073741824`, string(text))
	require.Regexp(t, `Max open files +100 +100`, string(text))
}

// A plugin that takes more memory than it may have ends, alone.
func TestAGreedyProcessMeetsItsLimit(t *testing.T) {
	h, _ := newHost(t, Settings{})
	policy := &config.PluginPolicy{Kind: "source", Name: "numbers", Path: executable(), Memory: 256 << 20}
	v := h.Plugins([]*config.PluginPolicy{policy}, "")
	modest := openNumbers(t, v, `{"count":3}`)
	_, err := drain(t, openNumbers(t, v, `{"count":3,"fail":"greedy"}`))
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, Died, f.Reason)
	require.ErrorContains(t, err, "out of memory")
	script, err := drain(t, modest)
	require.NoError(t, err)
	require.Equal(t, "end", script[len(script)-1])
}

func TestAProcessOfAnotherUser(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if os.Getuid() != 0 || err != nil {
		t.Skip("only root may start a process as somebody else")
	}
	h, _ := newHost(t, Settings{})
	dir, err := os.MkdirTemp("/tmp", "host-user-") // where nobody can come
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "plugin")
	own, err := os.ReadFile(executable())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, own, 0o755))
	policy := &config.PluginPolicy{Kind: "source", Name: "numbers", Path: path, User: "nobody"}
	openNumbers(t, h.Plugins([]*config.PluginPolicy{policy}, ""), `{"forever":true,"pause":"1ms"}`)
	info, err := os.Stat(fmt.Sprintf("/proc/%d", h.Processes()[0].PID))
	require.NoError(t, err)
	require.Equal(t, nobody.Uid, fmt.Sprint(info.Sys().(*syscall.Stat_t).Uid))

	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.Processes()[0].PID))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^Groups:\s*$`, string(groups), "none of the daemon's groups")

	policy.Processes = 60
	s, err := h.Plugins([]*config.PluginPolicy{policy}, "").OpenSource(context.Background(), wire.SourceOpen{Plugin: "numbers", Options: []byte(`{"forever":true}`)}, OwnProcess)
	if mayLimitOthers(t) {
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		all := h.Processes()
		slices.SortFunc(all, func(a, b Process) int { return a.Since.Compare(b.Since) })
		limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", all[len(all)-1].PID))
		require.NoError(t, err)
		require.Regexp(t, `Max processes +60 +60`, string(limits))
	} else {
		require.ErrorContains(t, err, "its limits cannot be set: operation not permitted; the daemon needs the capability CAP_SYS_RESOURCE")
	}

	policy.User = "no-such-user-here"
	_, err = h.Plugins([]*config.PluginPolicy{policy}, "").Describe("source", "numbers")
	require.NoError(t, err, "what the file serves is known already")
	policy.Path += "-2"
	require.NoError(t, os.WriteFile(policy.Path, own, 0o755))
	_, err = h.Plugins([]*config.PluginPolicy{policy}, "").Describe("source", "numbers")
	require.ErrorContains(t, err, `run it as "no-such-user-here"`)
}

// mayLimitOthers says whether this process may set the limits of another user's: root may not everywhere.
func mayLimitOthers(t *testing.T) bool {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "CapEff:")
	require.True(t, found)
	all, err := strconv.ParseUint(strings.Fields(rest)[0], 16, 64)
	require.NoError(t, err)
	return all>>unix.CAP_SYS_RESOURCE&1 == 1
}
