package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// entry is what the books hold.
type entry struct {
	Store     string `json:"store"` // the state store that the numbers belong to
	Component string `json:"component"`
	Number    uint64 `json:"number"`  // of the last row in the file
	Length    int64  `json:"length"`  // of the file, up to the end of that row
	Part      int    `json:"part"`    // how often it has been rotated
	Began     int64  `json:"began"`   // when this file was begun, ms
	Version   uint64 `json:"version"` // of the entry: the higher one counts
}

// The books are two slots of this size, each a line of text and padding: a name, a checksum and a JSON object. An entry goes to the slot
// that the last one is not in, so at any moment one of the two is whole, and its checksum says so.
const (
	slotSize = 1024
	bookName = "tidemark-file-sink-1"
)

// book is an open, locked book file.
type book struct {
	f    *os.File
	last entry
	sync bool
	slot []byte // memory for write
}

// bookPath is where the books of a file are.
func bookPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tidemark")
}

// openBook opens the books of a file, or makes them. found is false when nothing was in them.
func openBook(path string, sync bool) (b *book, found bool, err error) {
	name := bookPath(path)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		if errors.Is(err, errLocked) {
			return nil, false, fmt.Errorf("%s is being written by another pipeline or another Tidemark; each needs a file of its own", path)
		}
		return nil, false, fmt.Errorf("lock %s: %w", name, err)
	}
	b = &book{f: f, sync: sync}
	slots := make([]byte, 2*slotSize)
	n, err := f.ReadAt(slots, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		_ = f.Close()
		return nil, false, fmt.Errorf("read %s: %w", name, err)
	}
	if n == 0 {
		return b, false, nil // new, or its first entry was never written
	}
	valid := 0
	for s := 0; s < n; s += slotSize {
		if e, ok := readSlot(slots[s:min(s+slotSize, n)]); ok && (valid == 0 || e.Version > b.last.Version) {
			b.last = e
			valid++
		}
	}
	if valid == 0 {
		_ = f.Close()
		return nil, false, fmt.Errorf("%s is damaged: it cannot be told which rows %s holds; check the end of that file, then remove %s", name, path, name)
	}
	return b, true, nil
}

func readSlot(slot []byte) (e entry, ok bool) {
	line, _, ok := bytes.Cut(slot, []byte("\n"))
	if !ok {
		return e, false
	}
	name, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || string(name) != bookName {
		return e, false
	}
	sum, text, ok := bytes.Cut(rest, []byte(" "))
	if !ok || string(sum) != checksum(text) {
		return e, false
	}
	return e, json.Unmarshal(text, &e) == nil
}

func checksum(text []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// write puts down an entry; it is safe when write returns.
func (b *book) write(e entry) error {
	e.Version = b.last.Version + 1
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	slot := append(fmt.Appendf(b.slot[:0], "%s %s ", bookName, checksum(text)), text...)
	if len(slot) >= slotSize {
		return fmt.Errorf("the names of the store and the component are too long for %s", b.f.Name())
	}
	slot = append(slot, '\n')
	for len(slot) < slotSize {
		slot = append(slot, ' ')
	}
	b.slot = slot
	if _, err := b.f.WriteAt(slot, int64(e.Version%2)*slotSize); err != nil {
		return fmt.Errorf("write %s: %w", b.f.Name(), err)
	}
	if b.sync {
		if err := syncData(b.f); err != nil {
			return fmt.Errorf("sync %s: %w", b.f.Name(), err)
		}
	}
	b.last = e
	return nil
}

func (b *book) close() error { return b.f.Close() }
