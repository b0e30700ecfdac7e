package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// sharesMemory says whether a process has memory mapped that is shared with a daemon; "self" is this one.
func sharesMemory(t *testing.T, process any) int {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%v/maps", process))
	require.NoError(t, err)
	return strings.Count(string(maps), "/memfd:tidemark")
}

// openMemory counts the descriptors of such memory.
func openMemory(t *testing.T, process any) int {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%v/fd/*", process))
	require.NoError(t, err)
	n := 0
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && strings.HasPrefix(to, "/memfd:tidemark") {
			n++
		}
	}
	return n
}

func openBlob(t *testing.T, v *Plugins) wire.Source {
	t.Helper()
	s, err := v.OpenSource(context.Background(), wire.SourceOpen{Plugin: "blob", Place: wire.Place{Pipeline: "p", Component: "c"}}, OwnProcess)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// readBlob reads batches and looks at every row; wrong counts the rows that are not those of blob.
func readBlob(t *testing.T, s wire.Source, batches int) (wrong int, err error) {
	t.Helper()
	for batches > 0 {
		e, err := s.Recv()
		if err != nil {
			return wrong, err
		}
		if e.Batch == nil {
			continue
		}
		for i := range e.Batch.N {
			if !strings.HasPrefix(string(e.Batch.Row(i)), fmt.Sprintf(`{"key":"user-%08d","ts":%d,`, i*7919%10_000, 1_700_000_000_000+i)) {
				wrong++
			}
		}
		e.Batch.Release()
		batches--
	}
	return wrong, nil
}

// A process and the daemon have memory in common while the process lives. No descriptor stays open on either side, and nothing stays mapped.
func TestMemoryIsSharedAndGivenBack(t *testing.T) {
	h, _ := newHost(t, Settings{})
	for range 3 {
		s := openBlob(t, h.Plugins(nil, ""))
		pid := h.Processes()[0].PID
		require.Equal(t, 1, sharesMemory(t, pid))
		require.Equal(t, 1, sharesMemory(t, "self"))
		require.Zero(t, openMemory(t, pid))
		require.Zero(t, openMemory(t, "self"))
		wrong, err := readBlob(t, s, 100)
		require.NoError(t, err)
		require.Zero(t, wrong)
		require.NoError(t, s.Close())
		require.Zero(t, sharesMemory(t, "self"))
	}
}

// A plugin that does not use the memory, and one whose connection is encrypted, bring the same rows.
func TestPluginsWithoutSharedMemory(t *testing.T) {
	for name, policy := range map[string]*config.PluginPolicy{
		"it does not know it": {Env: map[string]string{"MISBEHAVE": "no_memory"}},
		"mtls":                {MTLS: true},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newHost(t, Settings{})
			policy.Kind, policy.Name, policy.Path = "source", "blob", executable()
			s := openBlob(t, h.Plugins([]*config.PluginPolicy{policy}, ""))
			require.Zero(t, sharesMemory(t, h.Processes()[0].PID))
			wrong, err := readBlob(t, s, 100)
			require.NoError(t, err)
			require.Zero(t, wrong)
		})
	}
}

// A plugin that writes into the memory while the daemon reads it has its rows changed or its stream ended, and no more.
func TestAPluginThatWritesWhereTheDaemonReads(t *testing.T) {
	h, _ := newHost(t, Settings{})
	good := openBlob(t, h.Plugins(nil, ""))
	others := func() {
		wrong, err := readBlob(t, good, 50)
		require.NoError(t, err)
		require.Zero(t, wrong, "others do not notice")
	}

	s := openBlob(t, misbehaving(h, "source", "blob", "scribble_text"))
	for wrong := 0; wrong == 0; {
		var err error
		wrong, err = readBlob(t, s, 1)
		require.NoError(t, err)
		others()
	}
	require.NoError(t, s.Close())

	s = openBlob(t, misbehaving(h, "source", "blob", "scribble"))
	var err error
	for err == nil {
		_, err = readBlob(t, s, 1)
	}
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, BrokeProtocol, f.Reason, err.Error())
	require.NoError(t, s.Close())
	others()
}

// A process that is killed in the middle of writing is told as dead, like any other, and its memory goes.
func TestAPluginIsKilledWhileItShares(t *testing.T) {
	h, _ := newHost(t, Settings{})
	s := openBlob(t, h.Plugins(nil, ""))
	wrong, err := readBlob(t, s, 20)
	require.NoError(t, err)
	require.Zero(t, wrong)
	require.NoError(t, syscall.Kill(h.Processes()[0].PID, syscall.SIGKILL))
	for err == nil {
		wrong, err = readBlob(t, s, 1)
		require.Zero(t, wrong)
	}
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, Died, f.Reason)
	require.NoError(t, s.Close())
	require.Zero(t, sharesMemory(t, "self"))
	require.Zero(t, openMemory(t, "self"))
}
