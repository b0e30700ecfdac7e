//go:build unix

package state

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockDirectory locks the directory's inode. The kernel gives the lock back when the process ends, however it ends.
func lockDirectory(dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		_ = f.Close()
		return nil, errHeld
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EINVAL):
		return f, nil // some network file systems have no such lock; the lock file remains
	}
	_ = f.Close()
	return nil, err
}
