//go:build unix

package procstat

import "golang.org/x/sys/unix"

// times are the user and system seconds of this process.
func times() (user, system float64) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0, 0
	}
	return seconds(r.Utime), seconds(r.Stime)
}

func seconds(t unix.Timeval) float64 { return float64(t.Nano()) / 1e9 }
