//go:build unix

package stdin

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readable waits up to d until a read of f would not block. The end of the input and errors count as readable. Standard input is shared
// with other processes, so it must not be made non-blocking.
func readable(f *os.File, d time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(max(d.Milliseconds(), 1)))
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}
