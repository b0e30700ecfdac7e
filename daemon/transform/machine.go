package transform

import (
	"fmt"
	"regexp"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// machine is what an expression runs on: a batch, the row it is at, and memory that is used again. It belongs to one goroutine.
type machine struct {
	b    *batch.Batch
	row  int
	refs []bound // the program's fields in this batch

	all     []uint32 // 0, 1, 2, … for batches without a selection
	scratch []*batch.Column
	used    int
	sels    [][]uint32
	selUsed int

	args     []value // stack of arguments
	locals   []value // of let
	scopes   []scope // of predicates, innermost last
	text     []byte  // texts computed for the current row
	elements []value // of lists taken apart for the current row
	depth    int     // of a comparison
	errs     []string
	pattern  *regexp.Regexp // the last one that was computed
}

// scope is the element that a predicate looks at.
type scope struct {
	element value
	index   int
}

// bound is a field of the program in the current batch.
type bound struct {
	column *batch.Column // nil: no row has it
	rest   []Step        // to be walked inside the column's JSON
}

// fail makes a value of a mistake that a row has. The message is about values, as people see them.
func (m *machine) fail(format string, args ...any) value {
	m.errs = append(m.errs, fmt.Sprintf(format, args...))
	return value{kind: failed, bits: uint64(len(m.errs) - 1)}
}

// join concatenates in the row's own memory.
func (m *machine) join(a, b []byte) value {
	from := len(m.text)
	m.text = append(append(m.text, a...), b...)
	return textValue(m.text[from:len(m.text):len(m.text)])
}

// next goes to a row and forgets what was computed for the one before.
func (m *machine) next(row uint32) {
	m.row, m.text, m.elements = int(row), m.text[:0], m.elements[:0]
}

// cell reads a cell of the batch.
func (m *machine) cell(c *batch.Column, row int) value {
	v := value{kind: c.Kinds[row], bits: c.Bits[row]}
	if v.isText() {
		v.text, v.stored = m.b.Text(v.bits), true
	}
	return v
}

// put writes a value into a cell, and its text into the batch.
func (m *machine) put(c *batch.Column, row int, v value) {
	bits := v.bits
	if v.isText() && !v.stored {
		from := len(m.b.Extra)
		if v.kind == batch.String {
			m.b.Extra = append(m.b.Extra, v.text...)
		} else {
			m.b.Extra = appendJSON(m.b.Extra, v)
		}
		bits = batch.ExtraRef(from, len(m.b.Extra)-from)
	}
	c.Kinds[row], c.Bits[row] = v.kind, bits
	c.Present |= 1 << v.kind
}

// begin binds the program's fields to a batch and forgets what was computed for the last one.
func (m *machine) begin(b *batch.Batch, refs []Ref) []uint32 {
	m.b, m.used, m.selUsed, m.errs = b, 0, 0, m.errs[:0]
	m.refs = m.refs[:0]
	for i := range refs {
		m.refs = append(m.refs, bind(b, &refs[i]))
	}
	if b.Sel != nil {
		return b.Sel
	}
	for len(m.all) < b.N {
		m.all = append(m.all, uint32(len(m.all)))
	}
	return m.all[:b.N]
}

// bind finds the column that holds a field: the one of its path, else the one of the longest beginning of it.
func bind(b *batch.Batch, r *Ref) bound {
	if c := b.Column(r.Path); c != nil {
		return bound{column: c}
	}
	for n := len(r.prefixes) - 1; n >= 0; n-- {
		if c := b.Column(r.prefixes[n]); c != nil {
			return bound{column: c, rest: r.Steps[n+1:]}
		}
	}
	return bound{}
}

// column borrows a column of scratch memory until release is called with the number that used had before.
func (m *machine) column() *batch.Column {
	if m.used == len(m.scratch) {
		m.scratch = append(m.scratch, &batch.Column{})
	}
	c := m.scratch[m.used]
	m.used++
	if cap(c.Kinds) < m.b.N {
		c.Kinds, c.Bits = make([]batch.Kind, m.b.N), make([]uint64, m.b.N)
	}
	c.Kinds, c.Bits, c.Present = c.Kinds[:m.b.N], c.Bits[:m.b.N], 0
	return c
}

func (m *machine) release(used int) { m.used = used }

// selection borrows an empty selection.
func (m *machine) selection() []uint32 {
	if m.selUsed == len(m.sels) {
		m.sels = append(m.sels, nil)
	}
	s := m.sels[m.selUsed]
	m.selUsed++
	return s[:0]
}

// giveBack returns the selection borrowed last, whose memory may have grown.
func (m *machine) giveBack(s []uint32) {
	m.selUsed--
	m.sels[m.selUsed] = s
}

// walk goes down a path inside a value; what is not there is null.
func (m *machine) walk(v value, steps []Step) value {
	for _, s := range steps {
		if v.kind != batch.JSON {
			return null
		}
		if s.Array {
			v = m.at(v, int64(s.Index))
		} else {
			v = m.get(v, s.Name)
		}
		if v.isNull() {
			return null
		}
	}
	return v
}

// get is a member of an object; null when it is not there or v is no object.
func (m *machine) get(v value, name string) value {
	if v.kind != batch.JSON || v.list != nil {
		return null
	}
	found, _ := member(v.text, name)
	if found == nil {
		return null
	}
	return fromJSON(found)
}

// at is an element of an array, from the end if i is negative; null when there is none or v is no array.
func (m *machine) at(v value, i int64) value {
	if v.list == nil && i >= 0 {
		out := null
		elements(v.text, func(e []byte) bool {
			if i == 0 {
				out = fromJSON(e)
			}
			i--
			return i >= 0
		})
		return out
	}
	items, _ := m.items(v)
	if i < 0 {
		i += int64(len(items))
	}
	if i < 0 || i >= int64(len(items)) {
		return null
	}
	return items[i]
}
