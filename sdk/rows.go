package sdk

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// shape is how values of an event type E stand in columns: worked out once from the struct's tags.
type shape struct {
	fields []boundField
	record bool // E is Record
	raw    bool // E is []byte or string
}

// boundField is a struct field with the column it belongs to.
type boundField struct {
	name     string
	offset   uintptr
	kind     fieldKind
	pointer  bool // *T: nil for a missing or null value
	required bool
	raw      bool // the bytes of the whole record
}

type fieldKind uint8

const (
	intField fieldKind = iota
	int32Field
	uintField
	floatField
	boolField
	stringField
	bytesField
	timeField
	anyField
)

// wants is the cell type that a field asks for.
func (k fieldKind) wants() wire.CellType {
	return [...]wire.CellType{wire.IntCell, wire.IntCell, wire.IntCell, wire.FloatCell, wire.BoolCell, wire.StringCell, wire.StringCell,
		wire.TimeCell, wire.AnyCell}[k]
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	bytesType  = reflect.TypeFor[[]byte]()
	recordType = reflect.TypeFor[Record]()
	anyType    = reflect.TypeFor[any]()
)

// shapeOf reads the tags of E: `tidemark:"name"`, `tidemark:"name,required"`, and `tidemark:",raw"` for the record's bytes.
func shapeOf[E any]() (*shape, error) {
	t := reflect.TypeFor[E]()
	switch {
	case t == recordType:
		return &shape{record: true}, nil
	case t == bytesType, t.Kind() == reflect.String:
		return &shape{raw: true}, nil
	case t.Kind() != reflect.Struct:
		return nil, fmt.Errorf("the event type %s must be a struct with tidemark tags, or sdk.Record", t)
	}
	s := &shape{}
	for f := range t.Fields() {
		tag, ok := f.Tag.Lookup("tidemark")
		if !ok {
			continue
		}
		if !f.IsExported() {
			return nil, fmt.Errorf("%s.%s has a tidemark tag but is not exported", t, f.Name)
		}
		name, rest, _ := strings.Cut(tag, ",")
		b := boundField{name: name, offset: f.Offset}
		for word := range strings.SplitSeq(rest, ",") {
			switch word {
			case "":
			case "required":
				b.required = true
			case "raw":
				b.raw = true
			default:
				return nil, fmt.Errorf("%s.%s: %q is not known in a tidemark tag; it is `tidemark:\"name\"`, \"name,required\" or \",raw\"", t, f.Name, word)
			}
		}
		if name == "" && !b.raw {
			return nil, fmt.Errorf("%s.%s: the tidemark tag has no name", t, f.Name)
		}
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			b.pointer, ft = true, ft.Elem()
		}
		var known bool
		if b.kind, known = kindOf(ft); !known || (b.pointer && (b.kind == anyField || b.kind == bytesField || b.raw)) {
			return nil, fmt.Errorf("%s.%s: the type %s is not supported; use string, []byte, int, int32, int64, uint64, float64, bool, time.Time, any, "+
				"or a pointer to one of them for \"may be missing\"", t, f.Name, f.Type)
		}
		if b.raw && b.kind != bytesField && b.kind != stringField {
			return nil, fmt.Errorf("%s.%s: raw needs a string or []byte", t, f.Name)
		}
		s.fields = append(s.fields, b)
	}
	return s, nil
}

func kindOf(t reflect.Type) (fieldKind, bool) {
	switch {
	case t == timeType:
		return timeField, true
	case t == bytesType:
		return bytesField, true
	case t == anyType:
		return anyField, true
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return intField, true
	case reflect.Int32:
		return int32Field, true
	case reflect.Uint64:
		return uintField, true
	case reflect.Float64:
		return floatField, true
	case reflect.Bool:
		return boolField, true
	case reflect.String:
		return stringField, true
	}
	return 0, false
}

// describe adds what the shape reads to a plugin's description. Names of options are columns of options and not record fields.
func (s *shape) describe(d *Description) {
	d.AllFields = s.record
	d.Raw = s.raw
	for _, f := range s.fields {
		if f.raw {
			d.Raw = true
			continue
		}
		if o, ok := d.Option(f.name); ok && (o.Type == ExprOption || o.Type == FieldOption) {
			continue
		}
		d.Fields = append(d.Fields, FieldSpec{Name: f.name, Type: f.kind.wants(), Required: f.required})
	}
}

// columns is what the shape writes, for sources and transforms.
func (s *shape) columns() []FieldSpec {
	var out []FieldSpec
	for _, f := range s.fields {
		out = append(out, FieldSpec{Name: f.name, Type: f.kind.wants(), Required: !f.pointer})
	}
	return out
}

// rows reads the rows of batches as values of E, one after another.
type rows[E any] struct {
	shape *shape
	b     *batch.Batch
	cols  []*batch.Column
	event E
	texts texts
	whole whole  // the batch's whole records, for E = Record
	wide  *whole // the same, or nil where it has none

	slots []slot // what pointer fields point to
	// After at returned false:
	code, message string
}

// slot is the memory behind one pointer field; the largest kinds need 24 bytes (time.Time).
type slot struct {
	i int64
	f float64
	b bool
	s string
	t time.Time
	u uint64
	n int32
}

func newRows[E any](s *shape) *rows[E] {
	return &rows[E]{shape: s, cols: make([]*batch.Column, len(s.fields)), slots: make([]slot, len(s.fields))}
}

// open sets the batch whose rows are read.
func (r *rows[E]) open(b *batch.Batch) {
	r.b = b
	if r.shape.record {
		r.wide = r.whole.set(b)
	}
	for i := range r.shape.fields {
		r.cols[i] = b.Column(r.shape.fields[i].name)
	}
}

// at returns row i. It is false for a row that does not fit E; code and message then say why. Pointers in the value are good until the
// next call.
func (r *rows[E]) at(i int) (*E, bool) {
	p := unsafe.Pointer(&r.event)
	switch {
	case r.shape.record:
		*(*Record)(p) = Record{b: r.b, row: i, texts: &r.texts, whole: r.wide}
		return &r.event, true
	case r.shape.raw:
		if _, isBytes := any(r.event).([]byte); isBytes {
			*(*[]byte)(p) = r.b.Row(i)
		} else {
			*(*string)(p) = r.texts.keep(r.b.Row(i))
		}
		return &r.event, true
	}
	for k := range r.shape.fields {
		f := &r.shape.fields[k]
		dst := unsafe.Add(p, f.offset)
		c := r.cols[k]
		if c == nil || c.Kinds[i] <= batch.Null {
			if f.raw {
				r.rawField(f, dst, i)
				continue
			}
			if f.required {
				r.code, r.message = "missing_field", fmt.Sprintf("the field %q is missing", f.name)
				return nil, false
			}
			f.clear(dst)
			continue
		}
		if !r.set(f, dst, c, i, k) {
			return nil, false
		}
	}
	return &r.event, true
}

func (r *rows[E]) rawField(f *boundField, dst unsafe.Pointer, i int) {
	if f.kind == bytesField {
		*(*[]byte)(dst) = r.b.Row(i)
	} else {
		*(*string)(dst) = r.texts.keep(r.b.Row(i))
	}
}

// set writes a cell that has a value.
func (r *rows[E]) set(f *boundField, dst unsafe.Pointer, c *batch.Column, i, k int) bool {
	if f.pointer {
		s := &r.slots[k]
		var at unsafe.Pointer
		switch f.kind {
		case intField:
			at = unsafe.Pointer(&s.i)
		case int32Field:
			at = unsafe.Pointer(&s.n)
		case uintField:
			at = unsafe.Pointer(&s.u)
		case floatField:
			at = unsafe.Pointer(&s.f)
		case boolField:
			at = unsafe.Pointer(&s.b)
		case stringField:
			at = unsafe.Pointer(&s.s)
		case timeField:
			at = unsafe.Pointer(&s.t)
		}
		*(*unsafe.Pointer)(dst) = at
		dst = at
	}
	ok := true
	switch f.kind {
	case intField:
		if c.Kinds[i] == batch.Int {
			*(*int64)(dst) = int64(c.Bits[i])
		} else {
			*(*int64)(dst), ok = cellInt(c.Kinds[i], c.Bits[i])
		}
	case int32Field:
		var n int64
		n, ok = cellInt(c.Kinds[i], c.Bits[i])
		*(*int32)(dst) = int32(n)
		ok = ok && int64(int32(n)) == n
	case uintField:
		if c.Kinds[i] == batch.Uint {
			*(*uint64)(dst) = c.Bits[i]
		} else {
			var n int64
			n, ok = cellInt(c.Kinds[i], c.Bits[i])
			*(*uint64)(dst) = uint64(n)
			ok = ok && n >= 0
		}
	case floatField:
		*(*float64)(dst), ok = cellFloat(c.Kinds[i], c.Bits[i])
	case boolField:
		*(*bool)(dst), ok = cellBool(c.Kinds[i], c.Bits[i])
	case stringField:
		if ok = c.Kinds[i].IsText(); ok {
			*(*string)(dst) = r.texts.keep(r.b.Text(c.Bits[i]))
		}
	case bytesField:
		if ok = c.Kinds[i].IsText(); ok {
			*(*[]byte)(dst) = r.b.Text(c.Bits[i])
		}
	case timeField:
		if ok = c.Kinds[i] == batch.Time; ok {
			*(*time.Time)(dst) = time.UnixMilli(int64(c.Bits[i])).UTC()
		}
	case anyField:
		text := ""
		if c.Kinds[i].IsText() {
			text = r.texts.keep(r.b.Text(c.Bits[i]))
		}
		*(*any)(dst) = batch.Value(c.Kinds[i], c.Bits[i], text)
	}
	if !ok {
		r.code, r.message = "wrong_type", fmt.Sprintf("the field %q is %s, and the plugin wants %s", f.name, c.Kinds[i], f.kind.wants())
	}
	return ok
}

// clear writes the zero value.
func (f *boundField) clear(dst unsafe.Pointer) {
	if f.pointer {
		*(*unsafe.Pointer)(dst) = nil
		return
	}
	switch f.kind {
	case intField, uintField:
		*(*int64)(dst) = 0
	case int32Field:
		*(*int32)(dst) = 0
	case floatField:
		*(*float64)(dst) = 0
	case boolField:
		*(*bool)(dst) = false
	case stringField:
		*(*string)(dst) = ""
	case bytesField:
		*(*[]byte)(dst) = nil
	case timeField:
		*(*time.Time)(dst) = time.Time{}
	case anyField:
		*(*any)(dst) = nil
	}
}
