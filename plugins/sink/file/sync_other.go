//go:build !linux

package file

import "os"

// syncData makes the contents of f safe.
func syncData(f *os.File) error { return f.Sync() }
