package file

import (
	"errors"
	"io"

	"github.com/zeebo/xxh3"
)

// recentBytes is how much of what was read last is kept: a guard and an unfinished record of ordinary length.
const recentBytes = 4096

// window keeps what was read of a file at its beginning and last.
type window struct {
	first  []byte // up to headBytes
	recent []byte // up to recentBytes
	end    int64  // the offset behind recent
}

// start begins at an offset of a file that was just recognised.
func (w *window) start(r io.ReaderAt, offset int64) error {
	w.end = offset
	w.first = make([]byte, min(offset, headBytes))
	w.recent = make([]byte, min(offset, guardBytes))
	for _, part := range []struct {
		p  []byte
		at int64
	}{{w.first, 0}, {w.recent, offset - int64(len(w.recent))}} {
		if n, err := r.ReadAt(part.p, part.at); n < len(part.p) && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// add takes what was read at w.end.
func (w *window) add(p []byte) {
	if room := headBytes - len(w.first); room > 0 && int64(len(w.first)) == w.end {
		w.first = append(w.first, p[:min(room, len(p))]...)
	}
	w.end += int64(len(p))
	if len(p) >= recentBytes {
		w.recent = append(w.recent[:0], p[len(p)-recentBytes:]...)
		return
	}
	if over := len(w.recent) + len(p) - recentBytes; over > 0 {
		w.recent = w.recent[:copy(w.recent, w.recent[over:])]
	}
	w.recent = append(w.recent, p...)
}

// head is the fingerprint of the beginning, as far as offset.
func (w *window) head(offset int64) fingerprint {
	n := int(min(offset, int64(len(w.first))))
	return fingerprint{n, xxh3.Hash(w.first[:n])}
}

// guard is the fingerprint of what stands before offset; false if that is not kept any more.
func (w *window) guard(offset int64) (fingerprint, bool) {
	n := min(offset, guardBytes)
	from := offset - n - (w.end - int64(len(w.recent)))
	if from < 0 || offset > w.end {
		return fingerprint{}, false
	}
	return fingerprint{int(n), xxh3.Hash(w.recent[from : from+n])}, true
}
