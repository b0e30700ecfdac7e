package transform

import "github.com/tidemark-stream/tidemark/sdk/batch"

// node is a part of a compiled expression. It is immutable and can be used by many machines.
//
// Every node can compute one row. Those that are common in hot paths can compute many rows in a tight loop, too; both ways give the
// same, which a test compares.
type node interface {
	// compute gives the value for m.row.
	compute(m *machine) value
	// columnar writes the values of the selected rows into out, whose other cells stay as they are.
	columnar(m *machine, sel []uint32, out *batch.Column)
	// static is what is known about the values.
	static() Type
}

// typed is embedded by nodes.
type typed struct{ t Type }

func (t typed) static() Type { return t.t }

// rowByRow is columnar for nodes that have no loop of their own.
func rowByRow(n node, m *machine, sel []uint32, out *batch.Column) {
	for _, row := range sel {
		m.next(row)
		m.put(out, int(row), n.compute(m))
	}
}

// operand gives the values of n for the selected rows as a column: the batch's own where n is a field, else one that n has filled.
func operand(n node, m *machine, sel []uint32) *batch.Column {
	if f, ok := n.(*fieldNode); ok {
		if r := m.refs[f.ref]; r.column != nil && len(r.rest) == 0 {
			return r.column
		}
	}
	c := m.column()
	n.columnar(m, sel, c)
	return c
}

// constNode is a constant.
type constNode struct {
	typed
	v value
}

func (n *constNode) compute(*machine) value { return n.v }

func (n *constNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	if len(sel) == 0 {
		return
	}
	first := int(sel[0])
	m.put(out, first, n.v) // a text is put into the batch once
	k, bits := out.Kinds[first], out.Bits[first]
	for _, row := range sel[1:] {
		out.Kinds[row], out.Bits[row] = k, bits
	}
}

// fieldNode is a field of the record.
type fieldNode struct {
	typed
	ref int
}

func (n *fieldNode) compute(m *machine) value {
	r := &m.refs[n.ref]
	if r.column == nil {
		return value{kind: batch.Missing}
	}
	v := m.cell(r.column, m.row)
	if len(r.rest) > 0 {
		return m.walk(v, r.rest)
	}
	return v
}

func (n *fieldNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	r := &m.refs[n.ref]
	switch {
	case r.column == nil:
		for _, row := range sel {
			out.Kinds[row], out.Bits[row] = batch.Missing, 0
		}
		out.Present |= 1 << batch.Missing
	case len(r.rest) > 0:
		rowByRow(n, m, sel, out)
	case len(sel) == m.b.N:
		copy(out.Kinds, r.column.Kinds)
		copy(out.Bits, r.column.Bits)
		out.Present |= r.column.Present
	default:
		for _, row := range sel {
			out.Kinds[row], out.Bits[row] = r.column.Kinds[row], r.column.Bits[row]
		}
		out.Present |= r.column.Present
	}
}

// localNode is a name that let has given to a value.
type localNode struct {
	typed
	slot int
}

func (n *localNode) compute(m *machine) value { return m.locals[n.slot] }
func (n *localNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	rowByRow(n, m, sel, out)
}

// letNode is `let name = value; body`.
type letNode struct {
	typed
	slot        int
	bound, body node
}

func (n *letNode) compute(m *machine) value {
	for len(m.locals) <= n.slot {
		m.locals = append(m.locals, null)
	}
	v := n.bound.compute(m)
	m.locals[n.slot] = v
	return n.body.compute(m)
}

func (n *letNode) columnar(m *machine, sel []uint32, out *batch.Column) { rowByRow(n, m, sel, out) }
