package state

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"syscall"
)

// readOnlyError is true when a file system is mounted read-only or something other than a directory stands in the path.
func readOnlyError(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EEXIST)
}

// unwritableHint names the user, because the directory usually belongs to another one.
func unwritableHint() string {
	who := fmt.Sprintf("user id %d", os.Getuid())
	if u, err := user.Current(); err == nil {
		who = "user " + u.Username
	}
	return fmt.Sprintf("the directory must be writable for %s; in a systemd unit use StateDirectory=tidemark and point the state there", who)
}
