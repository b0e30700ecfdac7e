package procstat_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/procstat"
)

func TestMain(m *testing.M) {
	if os.Getenv("PROCSTAT_CHILD") != "" {
		hold()
		return
	}
	goleak.VerifyTestMain(m)
}

// hold keeps 64 MiB until stdin ends.
func hold() {
	block := make([]byte, 64<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	os.Stdout.WriteString("ready\n")
	os.Stdin.Read(make([]byte, 1))
	runtime.KeepAlive(block)
}

var sink []byte

func TestSelfGrows(t *testing.T) {
	before := procstat.Self()
	for range 1000 {
		sink = make([]byte, 1<<12)
	}
	after := procstat.Self()
	require.GreaterOrEqual(t, after.Allocations-before.Allocations, uint64(1000))
	require.GreaterOrEqual(t, after.AllocatedBytes-before.AllocatedBytes, uint64(1000<<12))
	require.Greater(t, after.GCCycles, before.GCCycles)
	if runtime.GOOS == "linux" {
		require.Greater(t, after.CPUSeconds(), 0.0)
		require.Greater(t, after.PeakBytes, int64(1<<20))
	}
}

func TestAChildIsSeen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system does not say what a process uses")
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "PROCSTAT_CHILD=1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 1)) // it holds the memory now
	require.NoError(t, err)

	w := procstat.Watching(os.Getpid()) // the first look comes before the first tick
	peaks := w.Stop()
	require.Greater(t, peaks.Process, int64(1<<20))
	require.Greater(t, peaks.Others, int64(64<<20))
	require.Greater(t, peaks.Together, int64(64<<20))
	require.Less(t, peaks.Together, peaks.Process+peaks.Others, "both have the pages of one program, which count once")
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}
