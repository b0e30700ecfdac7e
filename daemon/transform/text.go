package transform

import (
	"bytes"
	"regexp"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// textNode is contains, startsWith and endsWith. With a null on either side it is null.
type textNode struct {
	typed
	op          string
	test        func(text, part []byte) bool
	left, right node
}

var textTests = map[string]func(text, part []byte) bool{
	"contains": bytes.Contains, "startsWith": bytes.HasPrefix, "endsWith": bytes.HasSuffix,
}

func (n *textNode) compute(m *machine) value {
	l := n.left.compute(m)
	if l.kind == failed {
		return l
	}
	return n.apply(m, l, n.right.compute(m))
}

func (n *textNode) apply(m *machine, l, r value) value {
	switch {
	case l.kind == failed:
		return l
	case r.kind == failed:
		return r
	case l.isNull() || r.isNull():
		return null
	case l.kind != batch.String || r.kind != batch.String:
		return m.fail("%s is for strings, not %s and %s", n.op, describe(l), describe(r))
	}
	return boolValue(n.test(l.text, r.text))
}

func (n *textNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	used := m.used
	defer m.release(used)
	l := operand(n.left, m, sel)
	if k, ok := n.right.(*constNode); ok && k.v.kind == batch.String {
		if kind, uniform := l.Uniform(); uniform && kind == batch.String {
			for _, row := range sel {
				setBool(out, row, n.test(m.b.Text(l.Bits[row]), k.v.text))
			}
			out.Present |= 1 << batch.Bool
			return
		}
	}
	r := operand(n.right, m, sel)
	for _, row := range sel {
		m.put(out, int(row), n.apply(m, m.cell(l, int(row)), m.cell(r, int(row))))
	}
}

// matchNode is `text matches pattern`, with an RE2 pattern that may match anywhere in the text. A constant pattern is compiled once.
type matchNode struct {
	typed
	left, right node
	pattern     *regexp.Regexp // nil: right is computed
}

func (n *matchNode) compute(m *machine) value {
	l := n.left.compute(m)
	if l.kind == failed {
		return l
	}
	if n.pattern != nil {
		return n.apply(m, l)
	}
	r := n.right.compute(m)
	switch {
	case r.kind == failed:
		return r
	case l.isNull() || r.isNull():
		return null
	case l.kind != batch.String || r.kind != batch.String:
		return m.fail("matches is for strings, not %s and %s", describe(l), describe(r))
	}
	if m.pattern == nil || m.pattern.String() != viewString(r.text) { // rows often have the same one
		p, err := regexp.Compile(string(r.text))
		if err != nil {
			return m.fail("%s is not a pattern: %v", describe(r), err)
		}
		m.pattern = p
	}
	return boolValue(m.pattern.Match(l.text))
}

func (n *matchNode) apply(m *machine, l value) value {
	switch {
	case l.kind == failed:
		return l
	case l.isNull():
		return null
	case l.kind != batch.String:
		return m.fail("matches is for strings, not %s", describe(l))
	}
	return boolValue(n.pattern.Match(l.text))
}

func (n *matchNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	if n.pattern == nil {
		rowByRow(n, m, sel, out)
		return
	}
	used := m.used
	defer m.release(used)
	c := operand(n.left, m, sel)
	if kind, uniform := c.Uniform(); uniform && kind == batch.String {
		for _, row := range sel {
			setBool(out, row, n.pattern.Match(m.b.Text(c.Bits[row])))
		}
		out.Present |= 1 << batch.Bool
		return
	}
	for _, row := range sel {
		m.put(out, int(row), n.apply(m, m.cell(c, int(row))))
	}
}
