//go:build unix

package wire

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// cpuTime is what this process has used of the processors, in nanoseconds.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}
