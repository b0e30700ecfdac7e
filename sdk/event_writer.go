package sdk

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// eventWriter appends values of E to batches: raw bytes as rows, structs and Records as columns. N is raised by the caller.
type eventWriter[E any] struct {
	shape *shape
	bytes bool
}

func newEventWriter[E any](s *shape) *eventWriter[E] {
	var e E
	_, isBytes := any(e).([]byte)
	return &eventWriter[E]{shape: s, bytes: isBytes}
}

func (w *eventWriter[E]) write(b *batch.Batch, event *E) {
	p := unsafe.Pointer(event)
	switch {
	case w.shape.raw && w.bytes:
		appendRow(b, *(*[]byte)(p))
	case w.shape.raw:
		appendRow(b, []byte(*(*string)(p)))
	case w.shape.record:
		appendRecord(b, *(*Record)(p))
	default:
		w.columns(b, p)
	}
}

func appendRow(b *batch.Batch, row []byte) {
	if len(b.Offsets) == 0 {
		b.Offsets = append(b.Offsets, 0)
	}
	b.Data = append(b.Data, row...)
	b.Offsets = append(b.Offsets, uint32(len(b.Data)))
}

func appendRecord(b *batch.Batch, r Record) {
	for _, name := range r.Names() {
		c := b.Column(name)
		if c == nil {
			c = b.AddColumn(name)
			c.Kinds, c.Bits = c.Kinds[:0], c.Bits[:0]
			for range b.N {
				push(c, batch.Missing, 0)
			}
		}
		pushAny(b, c, r.Value(name))
	}
	for i := range b.Columns {
		if c := &b.Columns[i]; len(c.Kinds) == b.N {
			push(c, batch.Missing, 0)
		}
	}
}

func push(c *batch.Column, k batch.Kind, bits uint64) {
	c.Kinds, c.Bits = append(c.Kinds, k), append(c.Bits, bits)
	c.Present |= 1 << k
}

func pushText(b *batch.Batch, c *batch.Column, k batch.Kind, s string) {
	at := len(b.Extra)
	b.Extra = append(b.Extra, s...)
	push(c, k, batch.ExtraRef(at, len(s)))
}

func pushAny(b *batch.Batch, c *batch.Column, v any) {
	switch x := v.(type) {
	case nil:
		push(c, batch.Null, 0)
	case bool:
		push(c, batch.Bool, bit(x))
	case int:
		push(c, batch.Int, uint64(x))
	case int64:
		push(c, batch.Int, uint64(x))
	case uint64:
		pushUint(c, x)
	case float64:
		push(c, batch.Float, math.Float64bits(x))
	case string:
		pushText(b, c, batch.String, x)
	case []byte:
		pushText(b, c, batch.String, string(x))
	case json.RawMessage:
		pushText(b, c, batch.JSON, string(x))
	case time.Time:
		push(c, batch.Time, uint64(x.UnixMilli()))
	default:
		pushText(b, c, batch.String, fmt.Sprint(x))
	}
}

func pushUint(c *batch.Column, x uint64) {
	if x > math.MaxInt64 {
		push(c, batch.Uint, x)
	} else {
		push(c, batch.Int, x)
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// columns appends a struct.
func (w *eventWriter[E]) columns(b *batch.Batch, p unsafe.Pointer) {
	if len(b.Columns) == 0 {
		for i := range w.shape.fields {
			c := b.AddColumn(w.shape.fields[i].name)
			c.Kinds, c.Bits = c.Kinds[:0], c.Bits[:0]
		}
	}
	for i := range w.shape.fields {
		f, c := &w.shape.fields[i], &b.Columns[i]
		at := unsafe.Add(p, f.offset)
		if f.pointer {
			if at = *(*unsafe.Pointer)(at); at == nil {
				push(c, batch.Null, 0)
				continue
			}
		}
		switch f.kind {
		case intField:
			push(c, batch.Int, uint64(*(*int64)(at)))
		case int32Field:
			push(c, batch.Int, uint64(int64(*(*int32)(at))))
		case uintField:
			pushUint(c, *(*uint64)(at))
		case floatField:
			push(c, batch.Float, math.Float64bits(*(*float64)(at)))
		case boolField:
			push(c, batch.Bool, bit(*(*bool)(at)))
		case stringField:
			pushText(b, c, batch.String, *(*string)(at))
		case bytesField:
			pushText(b, c, batch.String, unsafe.String(unsafe.SliceData(*(*[]byte)(at)), len(*(*[]byte)(at))))
		case timeField:
			push(c, batch.Time, uint64((*time.Time)(at).UnixMilli()))
		case anyField:
			pushAny(b, c, *(*any)(at))
		}
	}
}
