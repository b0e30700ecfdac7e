package transform

import (
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// logicNode is `and` and `or`. The right side is computed only where the left one has not decided. Null is "unknown": null and false is
// false, null or true is true, otherwise null stays null.
type logicNode struct {
	typed
	or          bool
	left, right node
}

// decides reports whether v settles the result whatever the other side says.
func (n *logicNode) decides(v value) bool {
	return v.kind == failed || v.kind == batch.Bool && (v.bits != 0) == n.or
}

func (n *logicNode) word() string {
	if n.or {
		return "or"
	}
	return "and"
}

func (n *logicNode) checked(m *machine, v value) value {
	if v.kind > batch.Bool && v.kind != failed {
		return m.fail("%s is for bools, not %s", n.word(), describe(v))
	}
	return v
}

func (n *logicNode) compute(m *machine) value {
	l := n.checked(m, n.left.compute(m))
	if n.decides(l) {
		return l
	}
	r := n.checked(m, n.right.compute(m))
	if n.decides(r) {
		return r
	}
	if l.isNull() || r.isNull() {
		return null
	}
	return r
}

func (n *logicNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	used := m.used
	defer m.release(used)
	l := operand(n.left, m, sel)
	open := m.selection()
	if k, ok := l.Uniform(); ok && k == batch.Bool {
		open = n.undecided(sel, out, l.Bits, open)
		sel = nil
	}
	for _, row := range sel {
		k, bits := l.Kinds[row], l.Bits[row]
		if k == batch.Bool && (bits != 0) != n.or {
			open = append(open, row)
			continue
		}
		v := n.checked(m, m.cell(l, int(row)))
		if !n.decides(v) {
			open = append(open, row) // null: the right side may decide
			continue
		}
		out.Kinds[row], out.Bits[row] = v.kind, v.bits
		out.Present |= 1 << v.kind
	}
	if len(open) > 0 {
		r := operand(n.right, m, open)
		for _, row := range open {
			k, bits := r.Kinds[row], r.Bits[row]
			if k != batch.Bool {
				v := n.checked(m, m.cell(r, int(row)))
				if v.isNull() {
					v = null
				}
				k, bits = v.kind, v.bits
			}
			if l.Kinds[row] != batch.Bool && !n.decides(value{kind: k, bits: bits}) {
				k, bits = batch.Null, 0
			}
			out.Kinds[row], out.Bits[row] = k, bits
			out.Present |= 1 << k
		}
	}
	m.giveBack(open)
}

// undecided settles the rows that a column of bools decides and returns the others. It has no branch, because which rows those are
// cannot be predicted.
func (n *logicNode) undecided(sel []uint32, out *batch.Column, left []uint64, open []uint32) []uint32 {
	flip := uint64(0)
	if n.or {
		flip = 1
	}
	open = slices.Grow(open, len(sel))[:len(sel)]
	count := 0
	for _, row := range sel {
		bits := left[row]
		out.Kinds[row], out.Bits[row] = batch.Bool, bits
		open[count] = row
		count += int(bits ^ flip)
	}
	out.Present |= 1 << batch.Bool
	return open[:count]
}

// notNode is `not`; null stays null.
type notNode struct {
	typed
	of node
}

func (n *notNode) compute(m *machine) value { return n.not(m, n.of.compute(m)) }

func (n *notNode) not(m *machine, v value) value {
	switch {
	case v.kind == batch.Bool:
		return boolValue(v.bits == 0)
	case v.isNull():
		return null
	case v.kind == failed:
		return v
	}
	return m.fail("not is for bools, not %s", describe(v))
}

func (n *notNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	used := m.used
	defer m.release(used)
	c := operand(n.of, m, sel)
	if k, ok := c.Uniform(); ok && k == batch.Bool {
		for _, row := range sel {
			out.Kinds[row], out.Bits[row] = batch.Bool, c.Bits[row]^1
		}
		out.Present |= 1 << batch.Bool
		return
	}
	for _, row := range sel {
		m.put(out, int(row), n.not(m, m.cell(c, int(row))))
	}
}

// condNode is `cond ? yes : no`; a null condition is not true.
type condNode struct {
	typed
	cond, yes, no node
}

func (n *condNode) compute(m *machine) value {
	switch c := n.cond.compute(m); {
	case c.isTrue():
		return n.yes.compute(m)
	case c.isFalse() || c.isNull():
		return n.no.compute(m)
	case c.kind == failed:
		return c
	default:
		return m.fail("a condition is a bool, not %s", describe(c))
	}
}

func (n *condNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	used := m.used
	defer m.release(used)
	c := operand(n.cond, m, sel)
	yes := m.selection()
	no := m.selection()
	for _, row := range sel {
		v := value{kind: c.Kinds[row], bits: c.Bits[row]}
		switch {
		case v.isTrue():
			yes = append(yes, row)
		case v.isFalse() || v.isNull():
			no = append(no, row)
		case v.kind == failed:
			m.put(out, int(row), v)
		default:
			m.put(out, int(row), m.fail("a condition is a bool, not %s", describe(m.cell(c, int(row)))))
		}
	}
	n.yes.columnar(m, yes, out)
	n.no.columnar(m, no, out)
	m.giveBack(no)
	m.giveBack(yes)
}

// elseNode is `a ?? b`: b where a is null.
type elseNode struct {
	typed
	first, second node
}

func (n *elseNode) compute(m *machine) value {
	if v := n.first.compute(m); !v.isNull() {
		return v
	}
	return n.second.compute(m)
}

func (n *elseNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	// NB: out may hold rows of others, so its Present is set aside while this node's rows are looked at.
	before := out.Present
	out.Present = 0
	defer func() { out.Present |= before }()
	n.first.columnar(m, sel, out)
	if out.Present&(1<<batch.Missing|1<<batch.Null) == 0 {
		return
	}
	open := m.selection()
	for _, row := range sel {
		if out.Kinds[row] <= batch.Null {
			open = append(open, row)
		}
	}
	if len(open) > 0 {
		out.Present &^= 1<<batch.Missing | 1<<batch.Null // all of them are written anew
		n.second.columnar(m, open, out)
	}
	m.giveBack(open)
}

// nullNode is `x == nil` and `x != nil`.
type nullNode struct {
	typed
	of   node
	with bool // true for != nil: there is a value
}

func (n *nullNode) compute(m *machine) value {
	v := n.of.compute(m)
	if v.kind == failed {
		return v
	}
	return boolValue(v.isNull() != n.with)
}

func (n *nullNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	used := m.used
	defer m.release(used)
	c := operand(n.of, m, sel)
	for _, row := range sel {
		k, bits := c.Kinds[row], c.Bits[row]
		if k != failed {
			v := boolValue((k <= batch.Null) != n.with)
			k, bits = v.kind, v.bits
		}
		out.Kinds[row], out.Bits[row] = k, bits
		out.Present |= 1 << k
	}
}
