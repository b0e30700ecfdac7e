package api

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// longest is how long the path of a Unix socket may be on the systems that allow least.
const longest = 103

// withShortPath calls f with a path that leads to the same socket and that the system takes. A long one is reached through its folder, which
// Linux shows under a short name while it is open.
func withShortPath[T any](path string, f func(short string) (T, error)) (T, error) {
	if len(path) <= longest {
		return f(path)
	}
	var none T
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return none, err
	}
	defer func() { _ = dir.Close() }()
	short := filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(path))
	if _, err := os.Stat(filepath.Dir(short)); err != nil {
		return none, &net.OpError{Op: "listen", Net: "unix", Err: errors.New("the path " + path + " is longer than sockets may have; set [admin] socket to a shorter one")}
	}
	return f(short)
}

// ListenSocket listens on a Unix socket, however long its path is.
func ListenSocket(path string) (net.Listener, error) {
	return withShortPath(path, func(short string) (net.Listener, error) {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		if err != nil {
			return nil, err
		}
		l.SetUnlinkOnClose(false) // short means nothing any more by then
		return l, nil
	})
}

// nobody is true for errors that say that there is nothing to connect to.
func nobody(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR)
}
