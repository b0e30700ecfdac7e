//go:build unix

package admin

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

var errHeld = errors.New("the lock is held")

// lock holds a file that is locked until unlock is called or the process ends. The file stays: removing it would let two hold it.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
