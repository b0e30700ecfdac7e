//go:build !unix

package state

import "io"

// lockDirectory has nothing to offer here; the lock file remains.
func lockDirectory(string) (io.Closer, error) { return nil, nil }
