package wire

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// NewShared makes the memory, and the file that a plugin process inherits it by; the caller closes that. It is zero.
func NewShared() (*Shared, *os.File, error) {
	fd, err := unix.MemfdCreate("tidemark", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("make memory to share with a plugin: %w", err)
	}
	file := os.NewFile(uintptr(fd), "shared memory")
	if err = file.Truncate(sharedBytes); err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	var mem []byte
	if err == nil {
		mem, err = unix.Mmap(int(file.Fd()), 0, sharedBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, fmt.Errorf("make memory to share with a plugin: %w", err)
	}
	return &Shared{mem: mem}, file, nil
}

// InheritShared maps the memory that the daemon has given this process, and closes its descriptor. It is nil if there is none, or it cannot
// be mapped: then everything goes on the stream.
func InheritShared() *Shared {
	fd, err := strconv.Atoi(os.Getenv(MemoryKey))
	if err != nil || fd < 0 {
		return nil
	}
	_ = os.Unsetenv(MemoryKey) // the number will mean something else
	file := os.NewFile(uintptr(fd), "shared memory")
	if file == nil {
		return nil
	}
	defer file.Close()
	return mapShared(file)
}

func mapShared(file *os.File) *Shared {
	info, err := file.Stat()
	if err != nil || info.Size() <= 0 || info.Size() > 1<<40 {
		return nil
	}
	mem, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return &Shared{mem: mem}
}

func unmap(mem []byte) error { return unix.Munmap(mem) }
