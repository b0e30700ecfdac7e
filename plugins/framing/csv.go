package framing

import (
	"bytes"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// csv cuts at line feeds outside quotes. A quote opens a quoted part only where a field begins, so a stray one in the middle of a
// field ("5" tall) does not swallow the lines after it; inside, a doubled quote is a quote.
//
// A quote that nobody closes would make one record of the rest of the stream. When a record with line feeds in it grows beyond
// maxRecord, it is taken for that: the lines in those maxRecord bytes are cut one by one (plainUntil), and the decoder refuses
// the one with the open quote. Where that happens depends on the bytes alone, not on the chunks.
func (s *Splitter) csv(b *batch.Batch) (full bool) {
	data := b.Data
	nextQuote := -1 // the first quote at or after scan; -1: not looked for
	for {
		if s.quoted {
			if !s.closeQuote(data) {
				return false
			}
			nextQuote = -1
			continue
		}
		i := bytes.IndexByte(data[s.scan:], '\n')
		end := s.scan + i
		if i < 0 {
			end = len(data)
		}
		if s.base+int64(s.start) >= s.plainUntil {
			if nextQuote < s.scan {
				nextQuote = s.scan + index(data[s.scan:], s.quote)
			}
			if nextQuote < end && s.openQuote(data, nextQuote, end) {
				continue
			}
		}
		if i < 0 {
			s.scan = len(data)
			return false
		}
		if b.N == s.maxRows {
			return true
		}
		if end-s.start > s.maxRecord {
			if s.retreat(b) {
				nextQuote = -1
				continue
			}
			end = s.start + bytes.IndexByte(data[s.start:], '\n') // as skip would: the first, quoted or not
			start := s.start
			s.start, s.scan = end+1, end+1
			if s.tooLong(b, start, end) {
				return true
			}
			continue
		}
		s.start, s.scan = end+1, end+1
		b.Offsets = append(b.Offsets, uint32(end+1))
		b.N++
	}
}

// openQuote looks for a quote at the beginning of a field in data[from:end].
func (s *Splitter) openQuote(data []byte, from, end int) bool {
	for q := from; q < end; {
		if q == s.start || s.delim[data[q-1]] {
			s.quoted, s.scan = true, q+1
			s.opened = s.base + int64(q)
			return true
		}
		q += 1 + index(data[q+1:end], s.quote)
	}
	return false
}

// closeQuote looks for the end of the quoted part. False means that more bytes are needed.
func (s *Splitter) closeQuote(data []byte) bool {
	for {
		i := bytes.IndexByte(data[s.scan:], s.quote)
		if i < 0 {
			s.scan = len(data)
			return false
		}
		s.scan += i
		if s.scan+1 == len(data) {
			return false // the next byte says whether it is an escape
		}
		if data[s.scan+1] != s.quote {
			s.scan++
			s.quoted = false
			return true
		}
		s.scan += 2
	}
}

// retreat handles a record that is longer than maxRecord because of an open quote, and reports whether that is so.
func (s *Splitter) retreat(b *batch.Batch) bool {
	if bytes.IndexByte(b.Data[s.start:s.start+s.maxRecord+1], '\n') < 0 {
		return false
	}
	if s.base+int64(s.start) < s.plainUntil {
		return false
	}
	s.plainUntil = s.base + int64(s.start+s.maxRecord+1)
	s.quoted, s.scan = false, s.start
	return true
}

// index is bytes.IndexByte that answers len(data) where there is none.
func index(data []byte, c byte) int {
	if i := bytes.IndexByte(data, c); i >= 0 {
		return i
	}
	return len(data)
}
