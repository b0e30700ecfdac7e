package transform

import "github.com/tidemark-stream/tidemark/sdk/batch"

// inNode is `x in list` and `name in object`. A null x is in nothing: the result is null.
type inNode struct {
	typed
	of, list node
	set      map[string]bool // identities of a list of constants; nil: list is computed
	some     []value         // the same, to compare with, when there are few
}

// few constants are compared one by one, more are looked up.
const few = 4

func (n *inNode) compute(m *machine) value {
	v := n.of.compute(m)
	if v.kind == failed || n.set != nil {
		return n.among(m, v)
	}
	l := n.list.compute(m)
	switch {
	case l.kind == failed:
		return l
	case v.isNull() || l.isNull():
		return null
	}
	if items, ok := m.items(l); ok {
		for _, e := range items {
			if !e.isNull() && m.equal(v, e) {
				return boolValue(true)
			}
		}
		return boolValue(false)
	}
	if v.kind == batch.String && l.kind == batch.JSON {
		if found, object := member(l.text, viewString(v.text)); object {
			return boolValue(found != nil)
		}
	}
	return m.fail("in needs a list, or a name and an object, not %s", describe(l))
}

// among looks a value up among the constants.
func (n *inNode) among(m *machine, v value) value {
	switch {
	case v.kind == failed:
		return v
	case v.isNull():
		return null
	case len(n.some) <= few:
		for _, k := range n.some {
			if m.equal(v, k) {
				return boolValue(true)
			}
		}
		return boolValue(false)
	}
	from := len(m.text)
	m.text = identity(m.text, v)
	found := n.set[string(m.text[from:])]
	m.text = m.text[:from]
	return boolValue(found)
}

func (n *inNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	if n.set == nil {
		rowByRow(n, m, sel, out)
		return
	}
	used := m.used
	defer m.release(used)
	c := operand(n.of, m, sel)
	m.text = m.text[:0]
	if k, ok := c.Uniform(); ok && (k == batch.String || k == batch.Int) && n.alike(k) {
		for _, row := range sel {
			setBool(out, row, n.has(m, k, c.Bits[row]))
		}
		out.Present |= 1 << batch.Bool
		return
	}
	for _, row := range sel {
		m.put(out, int(row), n.among(m, m.cell(c, int(row))))
	}
}

// alike is true when the constants are few and all of one kind.
func (n *inNode) alike(k batch.Kind) bool {
	for _, v := range n.some {
		if v.kind != k {
			return false
		}
	}
	return len(n.some) <= few
}

func (n *inNode) has(m *machine, k batch.Kind, bits uint64) bool {
	for i := range n.some {
		v := &n.some[i]
		if k == batch.String {
			if uint32(bits) == uint32(len(v.text)) && string(m.b.Text(bits)) == string(v.text) {
				return true
			}
		} else if v.bits == bits {
			return true
		}
	}
	return false
}
