package file

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes the contents of f safe, and of its metadata only what is needed to read them.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
