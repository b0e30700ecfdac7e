package keys

import (
	"encoding/binary"
	"fmt"
)

// Name builds the name of a meta key part by part. Parts are text or numbers; names made of parts of the same kinds sort like the lists
// of their parts.
type Name []byte

// Text is followed by 00 01, and a zero byte in it by ff: "a","b" and "ab" differ, "a" sorts before all that begins with it, and names
// that people have given may hold anything.
const (
	textEnd  = 0x01
	textZero = 0xff
)

// Text appends a part of text.
func (n Name) Text(s string) Name {
	for i := range len(s) {
		n = append(n, s[i])
		if s[i] == 0 {
			n = append(n, textZero)
		}
	}
	return append(n, 0, textEnd)
}

// Number appends a number, big endian.
func (n Name) Number(v uint64) Name { return binary.BigEndian.AppendUint64(n, v) }

// Reader takes a name apart again, in the order it was built. The first mistake sticks: see Err.
type Reader struct {
	rest []byte
	err  error
}

// ReadName starts to take a name apart.
func ReadName(name []byte) *Reader { return &Reader{rest: name} }

// Text takes a part of text.
func (r *Reader) Text() string {
	var s []byte
	for i := 0; i+1 < len(r.rest); i++ {
		switch {
		case r.rest[i] != 0:
			s = append(s, r.rest[i])
		case r.rest[i+1] == textEnd:
			r.rest = r.rest[i+2:]
			return string(s)
		case r.rest[i+1] == textZero:
			s = append(s, 0)
			i++
		default:
			r.fail("a zero byte that neither ends a text nor stands in one")
			return ""
		}
	}
	r.fail("text without its end")
	return ""
}

// Number takes a number.
func (r *Reader) Number() uint64 {
	if len(r.rest) < 8 {
		r.fail("number cut short")
		return 0
	}
	v := binary.BigEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return v
}

// End reports the first mistake, or that something is left over.
func (r *Reader) End() error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail(fmt.Sprintf("%d bytes left over", len(r.rest)))
	}
	return r.err
}

func (r *Reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("keys: damaged name: %s", what)
	}
	r.rest = nil
}

// AppendMeta appends the store key of a meta name.
func AppendMeta(dst, name []byte) []byte { return append(append(dst, spaceMeta), name...) }

// MetaName is the name in a store key of the meta space. It points into the encoded key.
func MetaName(encoded []byte) ([]byte, error) {
	if len(encoded) == 0 || encoded[0] != spaceMeta {
		return nil, fmt.Errorf("keys: %x is not a meta key", encoded)
	}
	return encoded[1:], nil
}

// IsMeta is true for store keys of the meta space.
func IsMeta(encoded []byte) bool { return len(encoded) > 0 && encoded[0] == spaceMeta }

// MetaBounds is the half-open run of store keys [start, end) whose names begin with prefix.
func MetaBounds(prefix []byte) (start, end []byte) {
	start = AppendMeta(nil, prefix)
	return start, After(start)
}

// After is the first key behind every key that begins with prefix. prefix must hold a byte below 0xff.
func After(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// Bounds is the run of all keys.
func Bounds() (start, end []byte) { return []byte{spaceMeta}, []byte{spaceEnd} }
