package file

import (
	"errors"
	"io"
	"os"

	"github.com/zeebo/xxh3"
)

const (
	headBytes  = 1024 // of a file's beginning, or fewer while it has fewer
	guardBytes = 64   // before an offset
)

// id is what the system calls a file. Inodes are used again, so it is only a hint.
type id struct{ device, inode uint64 }

// fingerprint is the hash of n bytes.
type fingerprint struct {
	n    int
	hash uint64
}

// headOf takes the fingerprint of the first n bytes; ok is false if there are not so many.
func headOf(r io.ReaderAt, n int) (fp fingerprint, ok bool) { return fingerprintAt(r, 0, n) }

// guardOf takes the fingerprint of what stands before offset.
func guardOf(r io.ReaderAt, offset int64) (fp fingerprint, ok bool) {
	n := int(min(offset, guardBytes))
	return fingerprintAt(r, offset-int64(n), n)
}

func fingerprintAt(r io.ReaderAt, offset int64, n int) (fp fingerprint, ok bool) {
	var buf [headBytes]byte
	if n > len(buf) {
		return fp, false
	}
	if got, err := r.ReadAt(buf[:n], offset); got < n || err != nil && !errors.Is(err, io.EOF) {
		return fp, false
	}
	return fingerprint{n, xxh3.Hash(buf[:n])}, true
}

// candidate is an open file that has to be recognised.
type candidate struct {
	path string
	f    *os.File
	id   id
	size int64
	look look // follow: when it was listed
}

// openCandidate opens a file to look at it.
func openCandidate(path string) (*candidate, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &candidate{path: path, f: f, id: idOf(info), size: info.Size()}, nil
}

// continues reports whether the file begins with what was read up to position p.
func (c *candidate) continues(p position) bool {
	if head, ok := headOf(c.f, p.Head.n); !ok || head != p.Head {
		return false
	}
	if p.Packed {
		return c.size >= p.Size // offsets count what comes out of it
	}
	if c.size < p.Offset {
		return false
	}
	guard, ok := guardOf(c.f, p.Offset)
	return ok && guard == p.Guard
}
