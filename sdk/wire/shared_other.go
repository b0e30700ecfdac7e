//go:build !linux

package wire

import (
	"errors"
	"os"
)

// NewShared: memory is shared on Linux only.
func NewShared() (*Shared, *os.File, error) { return nil, nil, errors.ErrUnsupported }

// InheritShared: memory is shared on Linux only.
func InheritShared() *Shared { return nil }

func unmap([]byte) error { return nil }
