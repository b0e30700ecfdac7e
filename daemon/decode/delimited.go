package decode

import (
	"bytes"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// delimitedFormat splits a row at each occurrence of a string. Nothing is quoted or escaped. The names of the columns are
// declared, in their order.
type delimitedFormat struct {
	tableRow
	delimiter []byte
	collapse  bool

	fast     []fastColumn // nil: only the careful way
	repeated uint64       // the delimiter eight times
	slots    []slot
}

func (f *delimitedFormat) decode(b *batch.Batch, cols []batch.Column, bad *badRows) {
	f.begin(b, cols, bad)
	defer f.end()
	f.slots = f.slots[:0]
	for i := range cols {
		f.slots = append(f.slots, slot{cols[i].Kinds, cols[i].Bits, 0})
	}
	fast := f.fast != nil && f.ascii && !f.nul
	for k := range b.Alive() {
		i := f.live(k)
		if fast && int(b.Offsets[i+1])+readAhead <= len(b.Data) && f.fastRow(b, i) {
			continue
		}
		row, ok := f.line(i)
		switch {
		case !ok:
		case isBlank(row.text):
			bad.refuse(i, CodeEmpty, "the row is empty")
		case f.collapse:
			f.collapsed(i, row)
		default:
			f.split(i, row)
		}
	}
	for i := range cols {
		cols[i].Present |= f.slots[i].present
	}
	clear(f.slots)
}

func (f *delimitedFormat) split(i int, row span) {
	f.start(i)
	text := row.text
	for at := 0; ; {
		n := f.find(text[at:])
		if n < 0 {
			f.add(row.sub(at, len(text)))
			break
		}
		if !f.add(row.sub(at, at+n)) {
			break
		}
		at += n + len(f.delimiter)
	}
	f.finish()
}

// collapsed takes a run of delimiters for one, and none at the ends.
func (f *delimitedFormat) collapsed(i int, row span) {
	f.start(i)
	text := row.text
	for at := 0; ; {
		for bytes.HasPrefix(text[at:], f.delimiter) {
			at += len(f.delimiter)
		}
		if at == len(text) {
			break
		}
		n := f.find(text[at:])
		if n < 0 {
			n = len(text) - at
		}
		if !f.add(row.sub(at, at+n)) {
			break
		}
		at += n
	}
	f.finish()
}

func (f *delimitedFormat) find(text []byte) int {
	if len(f.delimiter) == 1 {
		return bytes.IndexByte(text, f.delimiter[0])
	}
	return bytes.Index(text, f.delimiter)
}

func isBlank(text []byte) bool {
	return len(text) == 0 || text[0] <= ' ' && len(bytes.TrimSpace(text)) == 0
}
