package file

import (
	"bytes"
	"errors"
	"io"
)

// lastLineStart is the place behind the last line feed in the first size bytes of r, or 0.
func lastLineStart(r io.ReaderAt, size int64) (int64, error) {
	const step = 64 << 10
	buf := make([]byte, step)
	for end := size; end > 0; {
		from := max(0, end-step)
		n, err := r.ReadAt(buf[:end-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}
