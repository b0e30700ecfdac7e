package file

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tidemark-stream/tidemark/plugins/framing"
)

// position is where reading a generation of a file goes on, and what the file is recognised by.
type position struct {
	framing.Place
	ID     id
	Head   fingerprint
	Guard  fingerprint
	Packed bool  // compressed: Offset counts what comes out
	Size   int64 // compressed: of the file when it was opened
}

// positionJSON is the stored form. Names are short, since one is written with each batch; fingerprints and inodes are text, so that tools
// that keep numbers as floats do not spoil them.
type positionJSON struct {
	Offset int64  `json:"at"`
	Lines  int64  `json:"lines,omitempty"`
	ID     string `json:"id,omitempty"`   // device:inode
	Head   string `json:"head,omitempty"` // length:hash
	Guard  string `json:"guard,omitempty"`
	Packed bool   `json:"packed,omitempty"`
	Size   int64  `json:"size,omitempty"`
}

// encode writes a positionJSON; one is written for each batch, so nothing but the result is allocated.
func (p position) encode() []byte {
	b := append(make([]byte, 0, 160), `{"at":`...)
	b = strconv.AppendInt(b, p.Offset, 10)
	if p.LinesUntil != 0 {
		b = strconv.AppendInt(append(b, `,"lines":`...), p.LinesUntil, 10)
	}
	b = appendPair(b, `,"id":"`, p.ID.device, p.ID.inode)
	b = appendPair(b, `,"head":"`, uint64(p.Head.n), p.Head.hash)
	b = appendPair(b, `,"guard":"`, uint64(p.Guard.n), p.Guard.hash)
	if p.Packed {
		b = append(b, `,"packed":true`...)
	}
	if p.Size != 0 {
		b = strconv.AppendInt(append(b, `,"size":`...), p.Size, 10)
	}
	return append(b, '}')
}

// appendPair writes two numbers as unpair reads them, behind what begins their field.
func appendPair(dst []byte, field string, a, b uint64) []byte {
	dst = strconv.AppendUint(append(dst, field...), a, 16)
	dst = strconv.AppendUint(append(dst, ':'), b, 16)
	return append(dst, '"')
}

func decodePosition(text []byte) (p position, err error) {
	var j positionJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return p, fmt.Errorf("position %.100q is not one of a file: %w", text, err)
	}
	p.Offset, p.LinesUntil, p.Packed, p.Size = j.Offset, j.Lines, j.Packed, j.Size
	var n uint64
	for _, f := range []struct {
		text string
		a, b *uint64
	}{{j.ID, &p.ID.device, &p.ID.inode}, {j.Head, &n, &p.Head.hash}, {j.Guard, &n, &p.Guard.hash}} {
		if *f.a, *f.b, err = unpair(f.text); err != nil {
			return p, fmt.Errorf("position %.100q is not one of a file: %w", text, err)
		}
		if f.b == &p.Head.hash {
			p.Head.n = int(min(n, headBytes+1))
		} else if f.b == &p.Guard.hash {
			p.Guard.n = int(min(n, headBytes+1))
		}
	}
	if p.Offset < 0 {
		return p, fmt.Errorf("position %.100q is not one of a file", text)
	}
	return p, nil
}

func unpair(text string) (a, b uint64, err error) {
	if text == "" {
		return 0, 0, nil
	}
	_, err = fmt.Sscanf(text, "%x:%x", &a, &b)
	return a, b, err
}
