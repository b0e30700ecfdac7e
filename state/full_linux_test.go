package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// smallDisk mounts a file system of some MiB; the test is skipped where that is not allowed.
func smallDisk(t *testing.T, mib int) string {
	t.Helper()
	unmountLeftovers(t)
	dir := t.TempDir()
	if err := unix.Mount(fmt.Sprint(diskName, os.Getpid()), dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// diskName and the number of the process that has mounted it is what a small disk is called in the system's list.
const diskName = "tidemark-small-disk-"

// unmountLeftovers takes away the disks of test processes that were killed.
func unmountLeftovers(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if pid, ours := strings.CutPrefix(f[0], diskName); ours {
			if _, err := os.Stat("/proc/" + pid); os.IsNotExist(err) {
				_ = unix.Unmount(f[1], unix.MNT_DETACH)
				_ = os.Remove(f[1])
			}
		}
	}
}

// The small disk of a process that does not live any more is taken away by the next run.
func TestSmallDisksOfKilledRunsAreTakenAway(t *testing.T) {
	smallDisk(t, 1)           // skips where mounting is not allowed
	const noProcess = 1 << 23 // above the highest number there is
	dir := filepath.Join(t.TempDir(), "killed")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, unix.Mount(fmt.Sprint(diskName, noProcess), dir, "tmpfs", 0, "size=1m"))
	unmountLeftovers(t)
	require.NoDirExists(t, dir)
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	require.Contains(t, string(mounts), fmt.Sprint(diskName, os.Getpid()), "ours is in use")
	require.NotContains(t, string(mounts), fmt.Sprint(diskName, noProcess))
}

// fillUp takes all space of a file system but for some bytes.
func fillUp(t *testing.T, dir string, leave uint64) string {
	t.Helper()
	var st unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &st))
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	piece := make([]byte, 4096)
	for n := st.Bavail * uint64(st.Bsize); n > leave+4096; n -= 4096 {
		if _, err := f.Write(piece); err != nil {
			break
		}
	}
	return path
}

// TestADiskThatFillsUp fills the disk to different degrees between commits that grow, and frees it again. Every commit that has answered
// without an error is there in the end, whether the store could go on or had to be opened again; and opening on a full disk says so and
// harms nothing.
func TestADiskThatFillsUp(t *testing.T) {
	for _, leave := range []uint64{0, 8 << 10, 64 << 10, 512 << 10, 2 << 20} {
		t.Run(fmt.Sprint(leave>>10, "KiB left"), func(t *testing.T) {
			disk := smallDisk(t, 32)
			dir := filepath.Join(disk, "state")
			opts := Options{careless: true, MemTableSize: 512 << 10}
			s, err := Open(dir, opts)
			require.NoError(t, err)
			want := map[uint64]bool{}
			maybe := map[uint64]bool{} // of commits that have failed: there or not there, whole
			put := func(n uint64, entries int) error {
				var d Delta
				for i := range entries {
					d.Set(1, int64(n), uint64(i), []byte("key"), []byte(fmt.Sprintf("%064d", i*7919)))
				}
				d.Put(fmt.Appendf(nil, "commit %03d", n), fmt.Append(nil, entries))
				_, err := s.Commit(bg, &d)
				if err == nil {
					want[n] = true
				} else {
					require.ErrorIs(t, err, NoSpace)
					maybe[n] = true
				}
				return err
			}
			require.NoError(t, put(0, 100))
			filler := fillUp(t, disk, leave)
			starving := make(chan struct{}, 100)
			s.OnStarving(func(err error) {
				if err != nil {
					starving <- struct{}{}
				}
			})
			n, failed := uint64(1), false
			for ; n < 60 && !failed; n++ {
				done := make(chan bool, 1)
				go func() { done <- put(n, int(50*n)) != nil }()
				select {
				case failed = <-done:
				case <-starving: // it waits for room: let there be some
					require.NoError(t, os.Remove(filler))
					<-done // finished, or failed at the very same time
					failed = true
				}
			}
			require.True(t, failed, "the disk was never full")
			if s.Err() != nil {
				require.ErrorIs(t, s.Err(), NoSpace)
				require.NoError(t, ignoreNoSpace(s.Close()))
				if again, err := Open(dir, opts); err == nil { // there may be just enough room to open
					require.NoError(t, ignoreNoSpace(again.Close()))
				} else {
					require.ErrorIs(t, err, NoSpace)
				}
				_ = os.Remove(filler)
				s, err = Open(dir, opts)
				require.NoError(t, err)
			} else {
				_ = os.Remove(filler)
			}
			require.NoError(t, put(n, 10))
			require.NoError(t, s.Close())

			s, err = Open(dir, opts)
			require.NoError(t, err)
			got := map[uint64]bool{}
			require.NoError(t, s.ScanMeta([]byte("commit "), func(name, value []byte) error {
				var n uint64
				var entries, there int
				_, err := fmt.Sscanf(string(name), "commit %d", &n)
				require.NoError(t, err)
				_, err = fmt.Sscan(string(value), &entries)
				require.NoError(t, err)
				require.NoError(t, s.Scan(1, int64(n), keys.AllHashes(), func(int64, uint64, []byte, []byte) error { there++; return nil }))
				require.Equal(t, entries, there, "commit %d is whole", n)
				got[n] = true
				return nil
			}))
			for n := range want {
				require.True(t, got[n], "commit %d is there", n)
			}
			for n := range got {
				require.True(t, want[n] || maybe[n], "commit %d was made", n)
			}
			require.NoError(t, s.Close())
		})
	}
}

func ignoreNoSpace(err error) error {
	if errors.Is(err, NoSpace) {
		return nil
	}
	return err
}

func TestAFullDiskIsNoticedInTime(t *testing.T) {
	disk := smallDisk(t, 32)
	s, err := Open(filepath.Join(disk, "state"), Options{})
	require.NoError(t, err)
	var d Delta
	d.Put([]byte("position"), []byte("1"))
	commit(t, s, &d)
	filler := fillUp(t, disk, 1<<20)
	for range 3 {
		_, err = s.Commit(bg, &d)
		require.ErrorIs(t, err, NoSpace)
		require.NoError(t, s.Err(), "the store is as good as before")
	}
	require.NoError(t, os.Remove(filler))
	commit(t, s, &d)
	require.NoError(t, s.Close())
}
