package aggregate

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/jsontext"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// appendValue writes a value for a checkpoint: the kind, then the text with its length, or the number.
func appendValue(dst []byte, k batch.Kind, v uint64, text []byte) []byte {
	dst = append(dst, byte(k))
	switch k {
	case batch.String, batch.JSON:
		dst = binary.AppendUvarint(dst, uint64(len(text)))
		return append(dst, text...)
	case batch.Int, batch.Time:
		return binary.AppendVarint(dst, int64(v))
	case batch.Bool:
		return append(dst, byte(v))
	}
	return binary.LittleEndian.AppendUint64(dst, v)
}

// value reads what appendValue wrote. The text is part of the input.
func (d *decoder) value() (k batch.Kind, v uint64, text []byte) {
	k = batch.Kind(d.byte())
	switch k {
	case batch.String, batch.JSON:
		text = d.bytes(d.uvarint())
	case batch.Int, batch.Time:
		v = uint64(d.varint())
	case batch.Bool:
		v = uint64(d.byte())
	case batch.Uint, batch.Float:
		v = d.word()
	default:
		d.fail("kind %d", k)
	}
	return k, v, text
}

// decoder reads checkpoint bytes. After an error everything reads as zero; err has the first one.
type decoder struct {
	p   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("aggregate: damaged state: "+format, args...)
	}
	d.p = nil
}

func (d *decoder) byte() byte {
	if len(d.p) == 0 {
		d.fail("ends early")
		return 0
	}
	b := d.p[0]
	d.p = d.p[1:]
	return b
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.p)) {
		d.fail("ends early")
		return nil
	}
	b := d.p[:n:n]
	d.p = d.p[n:]
	return b
}

func (d *decoder) word() uint64 {
	b := d.bytes(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.p)
	if n <= 0 {
		d.fail("bad varint")
		return 0
	}
	d.p = d.p[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.p)
	if n <= 0 {
		d.fail("bad varint")
		return 0
	}
	d.p = d.p[n:]
	return v
}

// count reads a number of elements that take at least size bytes each, so that damaged input cannot ask for huge memory.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.p)/size) {
		d.fail("%d elements in %d bytes", n, len(d.p))
		return 0
	}
	return int(n)
}

// appendJSON writes a value inside a JSON array. NaN and the infinities, for which JSON has no numbers, are the strings "NaN",
// "Infinity" and "-Infinity"; times are RFC 3339 in UTC with milliseconds.
func appendJSON(dst []byte, k batch.Kind, v uint64, text []byte) []byte {
	switch k {
	case batch.Bool:
		return strconv.AppendBool(dst, v != 0)
	case batch.Int:
		return strconv.AppendInt(dst, int64(v), 10)
	case batch.Uint:
		return strconv.AppendUint(dst, v, 10)
	case batch.Float:
		return jsontext.AppendNumber(dst, math.Float64frombits(v))
	case batch.Time:
		dst = append(dst, '"')
		dst = time.UnixMilli(int64(v)).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
		return append(dst, '"')
	case batch.String:
		return jsontext.AppendString(dst, text)
	case batch.JSON:
		return append(dst, text...)
	}
	return append(dst, "null"...)
}
