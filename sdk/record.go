package sdk

import (
	"encoding/json"
	"math"
	"time"
	"unsafe"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Record is one record with its fields by name, for plugins that do not know the fields beforehand. It is valid during the call it is
// passed to; strings and values taken out of it may be kept.
type Record struct {
	b     *batch.Batch
	row   int
	texts *texts
	// own holds the values of a Record that a plugin makes.
	own map[string]any
}

// NewRecord makes a record of these values, for sources and transforms that give Records: nil, bool, int, int64, uint64, float64, string,
// []byte, time.Time or json.RawMessage.
func NewRecord(values map[string]any) Record { return Record{own: values} }

// Value is the value of a field: nil (missing, null), bool, int64, uint64, float64, string, time.Time, or json.RawMessage for arrays and
// objects.
func (r Record) Value(name string) any {
	if r.own != nil {
		return r.own[name]
	}
	c := r.column(name)
	if c == nil {
		return nil
	}
	return cellValue(r.b, c, r.row, r.texts)
}

// Has is true for a field that is there and not null.
func (r Record) Has(name string) bool {
	if r.own != nil {
		return r.own[name] != nil
	}
	c := r.column(name)
	return c != nil && !c.IsNull(r.row)
}

// Int is the value of a field as a whole number; false if it is not one.
func (r Record) Int(name string) (int64, bool) { return as[int64](r, name, cellInt) }

// Float is the value of a field as a number; false if it is not one.
func (r Record) Float(name string) (float64, bool) { return as[float64](r, name, cellFloat) }

// Bool is the value of a field as a boolean; false, false if it is not one.
func (r Record) Bool(name string) (value, ok bool) { return as[bool](r, name, cellBool) }

// Text is the value of a string field; false if it is not one.
func (r Record) Text(name string) (string, bool) {
	if r.own != nil {
		s, ok := r.own[name].(string)
		return s, ok
	}
	if c := r.column(name); c != nil && c.Kinds[r.row] == batch.String {
		return r.texts.keep(r.b.Text(c.Bits[r.row])), true
	}
	return "", false
}

// Raw is the record's own bytes, if the pipeline has them. They must not be changed or kept.
func (r Record) Raw() []byte {
	if r.b == nil {
		return nil
	}
	return r.b.Row(r.row)
}

// Names are the names of the fields that any record of the batch has.
func (r Record) Names() []string {
	if r.own != nil {
		return sortedKeys(r.own)
	}
	names := make([]string, 0, len(r.b.Columns))
	for i := range r.b.Columns {
		if name := r.b.Columns[i].Name; !batch.IsAside(name) {
			names = append(names, name)
		}
	}
	return names
}

func (r Record) column(name string) *batch.Column {
	if r.b == nil {
		return nil
	}
	return r.b.Column(name)
}

func as[T any](r Record, name string, cell func(*batch.Column, int) (T, bool)) (T, bool) {
	if r.own != nil {
		v, ok := r.own[name].(T)
		return v, ok
	}
	if c := r.column(name); c != nil {
		return cell(c, r.row)
	}
	var zero T
	return zero, false
}

func cellInt(c *batch.Column, i int) (int64, bool) {
	switch bits := c.Bits[i]; c.Kinds[i] {
	case batch.Int, batch.Time:
		return int64(bits), true
	case batch.Float:
		f := math.Float64frombits(bits)
		if n := int64(f); float64(n) == f && math.Abs(f) <= 1<<53 {
			return n, true
		}
	}
	return 0, false
}

func cellFloat(c *batch.Column, i int) (float64, bool) {
	switch bits := c.Bits[i]; c.Kinds[i] {
	case batch.Float:
		return math.Float64frombits(bits), true
	case batch.Int:
		return float64(int64(bits)), true
	case batch.Uint:
		return float64(bits), true
	}
	return 0, false
}

func cellBool(c *batch.Column, i int) (bool, bool) {
	return c.Kinds[i] == batch.Bool && c.Bits[i] != 0, c.Kinds[i] == batch.Bool
}

func cellValue(b *batch.Batch, c *batch.Column, i int, t *texts) any {
	bits := c.Bits[i]
	switch c.Kinds[i] {
	case batch.Bool:
		return bits != 0
	case batch.Int:
		return int64(bits)
	case batch.Uint:
		return bits
	case batch.Float:
		return math.Float64frombits(bits)
	case batch.String:
		return t.keep(b.Text(bits))
	case batch.JSON:
		return json.RawMessage(t.keep(b.Text(bits)))
	case batch.Time:
		return time.UnixMilli(int64(bits)).UTC()
	}
	return nil
}

// texts turns bytes of batches, whose memory is reused, into strings that last, with an allocation for some hundred of them.
type texts struct{ free []byte }

const textChunk = 16 << 10

func (t *texts) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > cap(t.free)-len(t.free) {
		t.free = make([]byte, 0, max(textChunk, len(b)))
	}
	at := len(t.free)
	t.free = append(t.free, b...)
	return unsafe.String(&t.free[at], len(b)) // this part of the chunk is never written again
}
