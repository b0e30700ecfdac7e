//go:build !unix

package wire

import "testing"

// cpuTime is not known here.
func cpuTime(*testing.B) int64 { return 0 }
