package framing

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Kind is a rule for where records end.
type Kind string

const (
	Lines Kind = "lines"
	CSV   Kind = "csv"
	None  Kind = "none"
)

// Reasons of rejects, stable.
const (
	TooLong = "too_long" // the record is longer than MaxRecord
	Partial = "partial"  // the stream ended inside the record
)

const (
	// DefaultMaxRecord is the limit where a source has none of its own: 1 MiB.
	DefaultMaxRecord = 1 << 20
	// LargestMaxRecord is the highest limit: positions in a batch are 31-bit numbers.
	LargestMaxRecord = 1 << 30
	// KeptPrefix is how many bytes of an over-long record its reject carries.
	KeptPrefix = 4 << 10
	// DefaultMaxRows closes a batch of very short records, so that its columns stay in the processor's cache.
	DefaultMaxRows = 4096
)

// Options say how a stream is cut. Zero values stand for the defaults.
type Options struct {
	Kind      Kind // default Lines
	MaxRecord int  // longest record in bytes, its line feed not counted; 1..LargestMaxRecord
	MaxRows   int  // most rows in one batch
	Delimiter byte // CSV: what separates fields; default any of comma, semicolon, tab and bar
	Quote     byte // CSV: default a double quote
}

// End says what becomes of an unfinished record when its stream ends.
type End uint8

const (
	// KeepLast makes it a record: a file's last line may lack its line end.
	KeepLast End = iota
	// RejectLast makes it a reject with code partial: a connection was cut inside a record.
	// With CSV that is everything behind an open quote.
	RejectLast
)

// Splitter cuts one stream. Its life: Begin, any number of Room and Cut, Finish, and again; at the end of the stream Begin, End and
// Finish until End returns true.
type Splitter struct {
	kind         Kind
	maxRecord    int
	maxRows      int
	delim        [256]bool
	quote        byte
	carry        []byte // what was read and not cut when the last batch was finished
	base         int64  // place in the stream of the current batch's Data[0], or of carry[0] between batches
	start, scan  int    // in Data: where the unfinished record begins, and up to where it was looked at
	quoted       bool   // CSV: scan is inside quotes
	opened       int64  // CSV: the place in the stream of the quote that opened them
	plainUntil   int64  // CSV: a record that begins before this place ends at its first line feed, see csv.go
	skipping     bool   // inside an over-long record
	skipped      int64  // its length so far
	prefix       []byte // its first bytes
	bomLookedFor bool
}

// Place is where a stream can be taken up again: what a source puts into its positions. The zero value is the beginning.
type Place struct {
	Offset     int64 // bytes that have been cut into rows and rejects
	LinesUntil int64 // CSV: up to here records are lines, because a quote was never closed; 0 almost always
}

// New returns a splitter for a stream that is read from at on.
func New(o Options, at Place) (*Splitter, error) {
	s := &Splitter{
		kind: o.Kind, maxRecord: o.MaxRecord, maxRows: o.MaxRows, quote: o.Quote,
		base: at.Offset, plainUntil: at.LinesUntil,
	}
	if s.kind == "" {
		s.kind = Lines
	}
	if s.kind != Lines && s.kind != CSV && s.kind != None {
		return nil, fmt.Errorf("framing %q is not known; use lines, csv or none", o.Kind)
	}
	if s.maxRecord == 0 {
		s.maxRecord = DefaultMaxRecord
	}
	if s.maxRecord < 1 || s.maxRecord > LargestMaxRecord {
		return nil, fmt.Errorf("the longest record must have 1 to %d bytes, not %d", LargestMaxRecord, o.MaxRecord)
	}
	if s.maxRows <= 0 {
		s.maxRows = DefaultMaxRows
	}
	delims := []byte{o.Delimiter}
	if o.Delimiter == 0 {
		delims = []byte(",;\t|")
	}
	for _, d := range delims {
		s.delim[d] = true
	}
	if s.quote == 0 {
		s.quote = '"'
	}
	s.bomLookedFor = at.Offset != 0
	return s, nil
}

// Place is where reading would go on after a restart, once the batch that Finish closed is safe. It is meaningful after Finish.
// Inside an over-long record it is the record's beginning, so that a restart meets the whole record again.
func (s *Splitter) Place() Place {
	p := Place{Offset: s.base}
	if s.skipping {
		p.Offset -= s.skipped
	}
	if p.Offset < s.plainUntil {
		p.LinesUntil = s.plainUntil
	}
	return p
}

// At is where the unfinished record begins in the stream.
func (s *Splitter) At() int64 {
	at := s.base + int64(s.start)
	if s.skipping {
		at -= s.skipped
	}
	return at
}

// Pending reports whether bytes wait that have not been cut yet, an unfinished record among them.
func (s *Splitter) Pending() bool { return len(s.carry) > 0 || s.skipping }

// Begin prepares an empty batch: the rows will be in b.Data, b.Base and b.Unit give their place in the stream. Bytes that
// were left over come first; call Cut(b, 0) before reading when Pending, since they may hold whole records.
func (s *Splitter) Begin(b *batch.Batch) {
	b.N, b.Unit, b.Base, b.Trailer = 0, batch.ByteOffset, s.base, 1
	if s.kind == None {
		b.Trailer = 0
	}
	b.Data = append(b.Data[:0], s.carry...)
	s.carry = s.carry[:0]
	b.Offsets = append(b.Offsets[:0], 0)
	s.start = 0
}

// Room returns n bytes at the end of b.Data to read into.
func (s *Splitter) Room(b *batch.Batch, n int) []byte {
	b.Data = slices.Grow(b.Data, n)
	return b.Data[len(b.Data) : len(b.Data)+n]
}

// Cut takes over the first n bytes of the last Room and cuts what is there into rows. True means that b must be finished
// before more is cut: it has MaxRows rows, or bytes were left out after them.
func (s *Splitter) Cut(b *batch.Batch, n int) (full bool) {
	b.Data = b.Data[:len(b.Data)+n]
	if !s.bomLookedFor && !s.stripMark(b) {
		return false
	}
	for {
		if s.skipping {
			if !s.skip(b) {
				return false
			}
			if b.N > 0 {
				return true // bytes were left out after the rows
			}
		}
		switch s.kind {
		case Lines:
			full = s.lines(b)
		case CSV:
			full = s.csv(b)
		case None:
			s.scan = len(b.Data)
		}
		if full {
			return true
		}
		if len(b.Data)-s.start <= s.maxRecord {
			return false
		}
		if s.kind == CSV && s.retreat(b) {
			continue // it is not one long record, but a quote that nobody closed
		}
		s.startSkipping()
	}
}

// Finish takes the unfinished record out of b, which then holds whole rows only.
func (s *Splitter) Finish(b *batch.Batch) {
	s.carry = append(s.carry[:0], b.Data[s.start:]...)
	b.Data = b.Data[:s.start]
	s.base += int64(s.start)
	s.scan -= s.start
	s.start = 0
	if lead := b.Offsets[0]; lead > 0 { // bytes before the first row: a byte order mark, rejects
		b.Data = b.Data[:copy(b.Data, b.Data[lead:])]
		for i := range b.Offsets {
			b.Offsets[i] -= lead
		}
		b.Base += int64(lead)
	}
}

// End tells that the stream has ended; it is called between Begin and Finish, instead of Room and Cut. False means that the batch
// is full and that End must be called again with another.
func (s *Splitter) End(b *batch.Batch, last End) (done bool) {
	s.bomLookedFor = true
	if s.Cut(b, 0) {
		return false
	}
	if s.skipping {
		s.rejectSkipped(b)
		return true
	}
	if s.quoted && s.scan < len(b.Data) {
		s.quoted, s.scan = false, len(b.Data) // the last byte is a quote, and nothing follows that could make it an escape
	}
	if s.quoted && last == KeepLast {
		// The quote was never closed. The lines since then may be good records; each is judged on its own by the decoder.
		s.plainUntil, s.quoted, s.scan = s.base+int64(len(b.Data)), false, s.start
		if s.csv(b) {
			return false
		}
	}
	rest := b.Data[s.start:]
	if len(rest) == 0 {
		return true
	}
	if last == RejectLast {
		message := fmt.Sprintf("the stream ended after %d bytes of this record", len(rest))
		if s.quoted {
			message += fmt.Sprintf(", inside the value whose quote opens at byte %d", s.opened-s.At()+1)
		}
		s.reject(b, Partial, message, rest, int64(len(rest)), s.At())
		s.base += int64(len(rest)) // so that Place is the end of the stream
		b.Data = b.Data[:s.start]
		s.scan, s.quoted = s.start, false
		return true
	}
	if b.N >= s.maxRows {
		return false
	}
	n := len(b.Data)
	if s.kind != None {
		b.Data = append(b.Data, '\n') // every row of a batch has the same trailer
	}
	b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	b.N++
	s.base -= int64(len(b.Data) - n) // the added line feed is not in the stream
	s.start = len(b.Data)
	s.scan = s.start
	return true
}

// lines cuts at line feeds.
func (s *Splitter) lines(b *batch.Batch) (full bool) {
	data, offsets := b.Data, b.Offsets
	start, scan := s.start, s.scan
	rows, most, limit := b.N, s.maxRows, s.maxRecord
	for {
		i := bytes.IndexByte(data[scan:], '\n')
		if i < 0 {
			scan = len(data)
			break
		}
		if rows == most {
			full = true
			break
		}
		end := scan + i
		if end-start > limit {
			b.N, b.Offsets = rows, offsets
			full = s.tooLong(b, start, end)
			rows, offsets = b.N, b.Offsets
			start, scan = end+1, end+1
			if full {
				break
			}
			continue
		}
		start, scan = end+1, end+1
		offsets = append(offsets, uint32(start))
		rows++
	}
	b.N, b.Offsets = rows, offsets
	s.start, s.scan = start, scan
	return full
}

// tooLong rejects the record Data[start:end], whose end is there. True means that b must be finished: the rows of a batch stand
// side by side, so bytes can be left out only before the first.
func (s *Splitter) tooLong(b *batch.Batch, start, end int) (full bool) {
	n := int64(end - start)
	s.reject(b, TooLong, s.tooLongMessage(n), b.Data[start:min(end, start+KeptPrefix)], n, s.base+int64(start))
	if b.N == 0 {
		b.Offsets[0] = uint32(end + 1)
		return false
	}
	return true
}

// startSkipping begins to discard an over-long record whose end is not there yet.
func (s *Splitter) startSkipping() {
	s.prefix = s.prefix[:0]
	s.skipping, s.skipped, s.quoted = true, 0, false
	s.scan = s.start
}

// discard drops n bytes from Data[start:], which belong to the record that is being skipped.
func (s *Splitter) discard(b *batch.Batch, n int) {
	s.skipped += int64(n)
	if room := KeptPrefix - len(s.prefix); room > 0 {
		s.prefix = append(s.prefix, b.Data[s.start:s.start+min(n, room)]...)
	}
	b.Data = append(b.Data[:s.start], b.Data[s.start+n:]...)
	s.base += int64(n)
	if b.N == 0 {
		b.Base += int64(n)
	}
	s.scan = s.start
}

// skip looks for the end of the over-long record. False means that all bytes are used up, or that b must be finished first.
func (s *Splitter) skip(b *batch.Batch) bool {
	rest := b.Data[s.start:]
	i := -1
	if s.kind != None {
		i = bytes.IndexByte(rest, '\n')
	}
	if i < 0 {
		s.discard(b, len(rest))
		return false
	}
	s.discard(b, i)
	s.rejectSkipped(b)
	s.discard(b, 1) // its line feed
	s.skipped = 0
	return true
}

func (s *Splitter) rejectSkipped(b *batch.Batch) {
	s.reject(b, TooLong, s.tooLongMessage(s.skipped), s.prefix, s.skipped, s.At())
	s.skipping, s.skipped = false, 0
}

func (s *Splitter) tooLongMessage(n int64) string {
	return fmt.Sprintf("the record has %d bytes, max_record allows %d", n, s.maxRecord)
}

func (s *Splitter) reject(b *batch.Batch, code, message string, kept []byte, length, at int64) {
	b.Rejects = append(b.Rejects, batch.Reject{
		After: uint32(b.N), Code: code, Message: message, Data: bytes.Clone(kept), Length: length, Position: at, HasPosition: true,
	})
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// stripMark leaves out a UTF-8 byte order mark at the very beginning. False means that more bytes are needed to tell.
func (s *Splitter) stripMark(b *batch.Batch) bool {
	data := b.Data
	if len(data) < len(byteOrderMark) && bytes.HasPrefix(byteOrderMark, data) {
		return false
	}
	s.bomLookedFor = true
	if bytes.HasPrefix(data, byteOrderMark) {
		n := len(byteOrderMark)
		b.Offsets[0], s.start, s.scan = uint32(n), n, n
	}
	return true
}
