package sdk

import (
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Record is one record with its fields by name, for plugins that do not know the fields beforehand. It is valid during the call it is
// passed to; strings and values taken out of it may be kept.
//
// Assigners and transforms of Records get all fields of a record. Those that the pipeline reads anyway, or declares in `decode`, stand in
// columns, in their declared type. The others are looked up in the record's JSON object when they are asked for, by name or by path as in the
// pipeline file (`user.country`, `tags[0]`, `["a.b"]`; formats without nesting have `a.b` as a name of its own): so the whole record crosses the process boundary, and is read once more. Where the
// fields are known, a struct with tags, or [Fields], is several times faster.
type Record struct {
	b     *batch.Batch
	row   int
	texts *texts
	whole *whole // nil: there are columns only
	// own holds the values of a Record that a plugin makes.
	own map[string]any
}

// NewRecord makes a record of these values, for sources and transforms that give Records: nil, bool, int, int64, uint64, float64, string,
// []byte, time.Time or json.RawMessage.
func NewRecord(values map[string]any) Record { return Record{own: values} }

// Value is the value of a field: nil (missing, null), bool, int64, uint64, float64, string, time.Time, or json.RawMessage for arrays and
// objects, and for numbers that no other type holds.
func (r Record) Value(name string) any {
	if r.own != nil {
		return r.own[name]
	}
	c := r.cell(name)
	if !c.kind.IsText() {
		return batch.Value(c.kind, c.bits, "")
	}
	return batch.Value(c.kind, 0, r.texts.keep(c.text))
}

// Has is true for a field that is there and not null.
func (r Record) Has(name string) bool {
	if r.own != nil {
		return r.own[name] != nil
	}
	return r.cell(name).kind > batch.Null
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
	if c := r.cell(name); c.kind == batch.String {
		return r.texts.keep(c.text), true
	}
	return "", false
}

// Raw is the record's own bytes, if the plugin asks for them. They must not be changed or kept.
func (r Record) Raw() []byte {
	if r.b == nil {
		return nil
	}
	return r.b.Row(r.row)
}

// Names are the names of the record's fields, those at the top of it: in their order where the whole record is at hand, then those that the
// pipeline has added. Without it they are the names that any record of the batch has.
func (r Record) Names() []string {
	if r.own != nil {
		return sortedKeys(r.own)
	}
	var names []string
	whole := r.whole != nil && r.whole.open(r.row)
	if whole {
		for _, m := range r.whole.members {
			name := string(m.name)
			c := r.b.Column(name)
			if dropped := c != nil && c.Kinds[r.row] == batch.Missing; !dropped && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for i := range r.b.Columns {
		c := &r.b.Columns[i]
		switch {
		case batch.IsAside(c.Name) || c.Name == batch.WholeColumn:
		case whole && (c.Kinds[r.row] == batch.Missing || strings.ContainsAny(c.Name, ".[") || slices.Contains(names, c.Name)):
		default:
			names = append(names, c.Name)
		}
	}
	return names
}

// cell is a value where it stands. text is of the batch, or of memory that is used again for the next record.
type cell struct {
	kind batch.Kind
	bits uint64
	text []byte
}

// cell finds a field: a column of its name counts before what the record itself has, since its type may be declared, or its value set on the
// way.
func (r Record) cell(name string) cell {
	if r.b == nil {
		return cell{}
	}
	if c := r.b.Column(name); c != nil {
		out := cell{kind: c.Kinds[r.row], bits: c.Bits[r.row]}
		if out.kind.IsText() {
			out.text = r.b.Text(out.bits)
		}
		return out
	}
	if r.whole != nil && r.whole.open(r.row) {
		return r.whole.find(name)
	}
	return cell{}
}

func as[T any](r Record, name string, value func(batch.Kind, uint64) (T, bool)) (T, bool) {
	if r.own != nil {
		v, ok := r.own[name].(T)
		return v, ok
	}
	c := r.cell(name)
	return value(c.kind, c.bits)
}

func cellInt(k batch.Kind, bits uint64) (int64, bool) {
	switch k {
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

func cellFloat(k batch.Kind, bits uint64) (float64, bool) {
	switch k {
	case batch.Float:
		return math.Float64frombits(bits), true
	case batch.Int:
		return float64(int64(bits)), true
	case batch.Uint:
		return float64(bits), true
	}
	return 0, false
}

func cellBool(k batch.Kind, bits uint64) (bool, bool) {
	return k == batch.Bool && bits != 0, k == batch.Bool
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
