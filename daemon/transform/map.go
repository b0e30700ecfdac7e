package transform

import (
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// MapSettings says how records are changed: Set first, over the record as it came in; then Rename, then Drop or Keep.
type MapSettings struct {
	Set    []Assignment
	Rename []Rename
	Drop   []string
	Keep   []string // nil: everything that is not dropped; otherwise the only fields that go on, in this order
}

// Assignment gives a field the value of an expression. A field of that name is replaced where it stands, a new one comes last.
type Assignment struct {
	Field   string
	Program *Program
}

// Rename gives a field another name. A field that has the new name already goes.
type Rename struct{ From, To string }

// Map changes the columns of batches. It belongs to one goroutine.
type Map struct {
	settings MapSettings
	set      []*Evaluator
	order    []int
}

// NewMap makes a map.
func NewMap(s MapSettings) *Map {
	m := &Map{settings: s}
	for _, a := range s.Set {
		m.set = append(m.set, a.Program.Evaluator())
	}
	return m
}

// computing is the name of columns while others are still being computed: no field can have it, so expressions see the record as it
// came in.
const computing = "\x00"

// Apply changes the columns of b. A row for which an expression cannot be computed is refused.
func (m *Map) Apply(b *batch.Batch) Counts {
	c := Counts{In: uint64(b.Alive())}
	came := len(b.Columns)
	for _, e := range m.set {
		out := b.AddColumn(computing)
		c.Rejected += uint64(e.Eval(b, out))
	}
	m.order = m.order[:0]
	for i := range came {
		m.order = append(m.order, i)
	}
	for i, a := range m.settings.Set {
		m.outdate(b, came, a.Field)
		b.Columns[came+i].Name = a.Field
		m.replace(b, came, a.Field, came+i)
	}
	for _, r := range m.settings.Rename {
		m.rename(b, r)
	}
	m.drop(b)
	b.KeepColumns(m.order)
	c.Out = c.In - c.Rejected
	return c
}

// replace puts column i where the column of that name stands, or last.
func (m *Map) replace(b *batch.Batch, came int, name string, i int) {
	for k, old := range m.order {
		if old < came && b.Columns[old].Name == name {
			m.order[k] = i
			return
		}
	}
	m.order = append(m.order, i)
}

// outdate takes out the columns of the record as it came in that lie within a field that gets another value.
func (m *Map) outdate(b *batch.Batch, came int, field string) {
	m.order = slices.DeleteFunc(m.order, func(i int) bool { return i < came && within(field, b.Columns[i].Name) })
}

// within says whether a path leads into a field.
func within(field, path string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

func (m *Map) rename(b *batch.Batch, r Rename) {
	at := -1
	for _, i := range m.order {
		if b.Columns[i].Name == r.From {
			at = i
		}
	}
	if at < 0 {
		return
	}
	kept := m.order[:0]
	for _, i := range m.order {
		if name := b.Columns[i].Name; i == at || name != r.To && !within(r.To, name) && !within(r.From, name) {
			kept = append(kept, i)
		}
	}
	m.order = kept
	b.Columns[at].Name = r.To
}

func (m *Map) drop(b *batch.Batch) {
	if m.settings.Keep != nil {
		from := len(m.order)
		for _, name := range m.settings.Keep {
			for _, i := range m.order[:from] {
				if b.Columns[i].Name == name {
					m.order = append(m.order, i)
				}
			}
		}
		m.order = append(m.order[:0], m.order[from:]...)
		return
	}
	for _, name := range m.settings.Drop {
		kept := m.order[:0]
		for _, i := range m.order {
			if b.Columns[i].Name != name && !within(name, b.Columns[i].Name) {
				kept = append(kept, i)
			}
		}
		m.order = kept
	}
}
