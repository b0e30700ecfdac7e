package host

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/config"
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

	policy.User = "no-such-user-here"
	_, err = h.Plugins([]*config.PluginPolicy{policy}, "").Describe("source", "numbers")
	require.NoError(t, err, "what the file serves is known already")
	policy.Path += "-2"
	require.NoError(t, os.WriteFile(policy.Path, own, 0o755))
	_, err = h.Plugins([]*config.PluginPolicy{policy}, "").Describe("source", "numbers")
	require.ErrorContains(t, err, `run it as "no-such-user-here"`)
}
