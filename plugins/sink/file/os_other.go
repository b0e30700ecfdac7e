//go:build !unix

package file

import (
	"errors"
	"os"
)

var errLocked = errors.New("locked")

// lock does nothing where there is no advisory lock.
func lock(*os.File) error { return nil }

// syncFolder does nothing where folders cannot be synced.
func syncFolder(string) error { return nil }
