package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// diskName and the number of the process that has mounted it is what a test's file system is called in the system's list.
const diskName = "tidemark-test-disk-"

// mount mounts a file system in memory for the test, which is left out where that is not allowed. It is taken away when the programs of the
// test have ended, or, if the test's process is killed before that, by the next one.
func (t *trial) mount(dir, options string, flags uintptr) {
	t.Helper()
	path := t.path(dir)
	require.NoError(t, os.MkdirAll(path, 0o755))
	if err := unix.Mount(fmt.Sprint(diskName, os.Getpid()), path, "tmpfs", flags, options); err != nil {
		t.Skipf("needs a file system of its own, which only root can mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
}

const readOnly = unix.MS_RDONLY

// unmountLeftovers takes away the disks of test processes that were killed.
func unmountLeftovers() {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if pid, ours := strings.CutPrefix(f[0], diskName); ours {
			if _, err := os.Stat("/proc/" + pid); os.IsNotExist(err) {
				_ = unix.Unmount(f[1], unix.MNT_DETACH)
			}
		}
	}
}

func TestDisksOfKilledRunsAreTakenAway(t *testing.T) {
	r := &trial{t, t.TempDir()}
	r.mount("ours", "size=1m", 0) // skips where mounting is not allowed
	const noProcess = 1 << 23     // above the highest number there is
	theirs := filepath.Join(r.dir, "theirs")
	require.NoError(t, os.Mkdir(theirs, 0o700))
	require.NoError(t, unix.Mount(fmt.Sprint(diskName, noProcess), theirs, "tmpfs", 0, "size=1m"))
	unmountLeftovers()
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	require.Contains(t, string(mounts), r.path("ours"), "it is in use")
	require.NotContains(t, string(mounts), theirs)
}
