package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Whoever has asked for a stop within some time gets it, also when nobody reads what is printed.
func TestAStopWhenNobodyReadsStandardOutput(t *testing.T) {
	const pipeline = `
[sources.s]
plugin = "generate"
[sinks.o]
plugin = "stdout"
inputs = ["s"]
`
	const service = "pipelines = \"pipelines\"\nstate = \"state\"\nstop_timeout = \"100ms\"\n[admin]\naddress = \"\"\n"
	for name, args := range map[string][]string{
		"run":    {"run", "--stop-timeout", "100ms", "pipelines/p.toml"},
		"json":   {"run", "--json", "--stop-timeout", "100ms", "pipelines/p.toml"},
		"daemon": {"daemon", "--config", "daemon.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(dir, "pipelines"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "pipelines/p.toml"), []byte(pipeline), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "daemon.toml"), []byte(service), 0o600))
			read, write, err := os.Pipe()
			require.NoError(t, err)
			defer read.Close()
			size, err := unix.FcntlInt(write.Fd(), unix.F_GETPIPE_SZ, 0)
			require.NoError(t, err)

			var said bytes.Buffer
			cmd := exec.Command(binary, args...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, write, &said
			require.NoError(t, cmd.Start())
			require.NoError(t, write.Close())
			require.Eventually(t, func() bool {
				n, err := unix.IoctlGetInt(int(read.Fd()), unix.TIOCINQ)
				return err == nil && n > size-4096
			}, time.Minute, time.Millisecond, "the pipe is full")
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.Error(t, cmd.Wait())
			require.Equal(t, exitFailed, cmd.ProcessState.ExitCode(), said.String())
			require.Contains(t, said.String(), "the stop took longer than 100ms")
		})
	}
}
