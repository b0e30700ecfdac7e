package state

import (
	"github.com/cockroachdb/pebble/v2/vfs"
)

// room refuses work that would need n bytes when the disk is as good as full. Where the free space cannot be known (file systems in
// memory), there is room.
func (s *Store) room(n uint64) error {
	if s.opts.ReadOnly || s.opts.careless {
		return nil
	}
	usage, err := s.opts.FS.GetDiskUsage(s.dir)
	if err != nil {
		return nil
	}
	return s.roomIn(usage, n)
}

func (s *Store) roomIn(usage vfs.DiskUsage, n uint64) error {
	if usage.TotalBytes == 0 {
		return nil
	}
	reserve := min(s.opts.Reserve, usage.TotalBytes/8)
	if usage.AvailBytes >= n+reserve {
		return nil
	}
	return newError(NoSpace, s.dir, "free some space; the pipeline goes on by itself, and nothing that was committed is lost",
		"the disk is full: %d MiB are free of %d MiB, and %d MiB are needed", usage.AvailBytes>>20, usage.TotalBytes>>20, (n+reserve)>>20)
}
