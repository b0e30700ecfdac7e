package transform

import (
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// arithNode is + - * / % and ** (^). With a null on either side it is null.
type arithNode struct {
	typed
	op          byte // '^' for **
	left, right node
}

func (n *arithNode) compute(m *machine) value {
	l := n.left.compute(m)
	if l.kind == failed {
		return l
	}
	return n.apply(m, l, n.right.compute(m))
}

func (n *arithNode) apply(m *machine, l, r value) value {
	switch {
	case l.kind == failed:
		return l
	case r.kind == failed:
		return r
	case l.isNull() || r.isNull():
		return null
	}
	return m.arithmetic(n.op, l, r)
}

func (n *arithNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	used := m.used
	defer m.release(used)
	l, r := operand(n.left, m, sel), operand(n.right, m, sel)
	lk, lok := l.Uniform()
	rk, rok := r.Uniform()
	switch {
	case !lok || !rok:
	case lk == batch.Int && rk == batch.Int && (n.op == '+' || n.op == '-' || n.op == '*' || n.op == '%'):
		n.ints(m, sel, out, l.Bits, r.Bits)
		return
	case n.op != '%' && n.op != '^' && (lk == batch.Float || lk == batch.Int) && (rk == batch.Float || rk == batch.Int) &&
		(lk == batch.Float || rk == batch.Float || n.op == '/'):
		n.floats(m, sel, out, l.Bits, r.Bits, lk == batch.Int, rk == batch.Int)
		return
	}
	for _, row := range sel {
		m.text = m.text[:0]
		m.put(out, int(row), n.apply(m, m.cell(l, int(row)), m.cell(r, int(row))))
	}
}

func (n *arithNode) ints(m *machine, sel []uint32, out *batch.Column, l, r []uint64) {
	kinds, results := out.Kinds, out.Bits
	switch n.op {
	case '+':
		for _, row := range sel {
			a, b := int64(l[row]), int64(r[row])
			s := a + b
			if (s > a) != (b > 0) {
				m.put(out, int(row), m.wholes('+', a, b))
				continue
			}
			kinds[row], results[row] = batch.Int, uint64(s)
		}
	case '-':
		for _, row := range sel {
			a, b := int64(l[row]), int64(r[row])
			d := a - b
			if (d < a) != (b > 0) {
				m.put(out, int(row), m.wholes('-', a, b))
				continue
			}
			kinds[row], results[row] = batch.Int, uint64(d)
		}
	case '%':
		for _, row := range sel {
			a, b := int64(l[row]), int64(r[row])
			if b == 0 || b == -1 {
				m.put(out, int(row), m.wholes('%', a, b))
				continue
			}
			kinds[row], results[row] = batch.Int, uint64(a%b)
		}
	default:
		for _, row := range sel {
			a, b := int64(l[row]), int64(r[row])
			p, ok := multiply(a, b)
			if !ok {
				m.put(out, int(row), m.wholes('*', a, b))
				continue
			}
			kinds[row], results[row] = batch.Int, uint64(p)
		}
	}
	out.Present |= 1 << batch.Int
}

func (n *arithNode) floats(m *machine, sel []uint32, out *batch.Column, l, r []uint64, leftInt, rightInt bool) {
	for _, row := range sel {
		a, b := math.Float64frombits(l[row]), math.Float64frombits(r[row])
		if leftInt {
			a = float64(int64(l[row]))
		}
		if rightInt {
			b = float64(int64(r[row]))
		}
		switch n.op {
		case '+':
			a += b
		case '-':
			a -= b
		case '*':
			a *= b
		default:
			if b == 0 {
				left := value{kind: batch.Float, bits: math.Float64bits(a)}
				m.put(out, int(row), m.floats('/', left.float(), 0))
				continue
			}
			a /= b
		}
		out.Kinds[row], out.Bits[row] = batch.Float, math.Float64bits(a)
	}
	out.Present |= 1 << batch.Float
}

// signNode is -x.
type signNode struct {
	typed
	of node
}

func (n *signNode) compute(m *machine) value {
	v := n.of.compute(m)
	if v.kind == failed || v.isNull() {
		return v
	}
	return m.negate(v)
}

func (n *signNode) columnar(m *machine, sel []uint32, out *batch.Column) { rowByRow(n, m, sel, out) }

// plusNode is +x: x, if it is a number.
type plusNode struct {
	typed
	of node
}

func (n *plusNode) compute(m *machine) value {
	v := n.of.compute(m)
	if v.kind == failed || v.isNull() || v.isNumber() {
		return v
	}
	return m.fail("+ is for numbers, not %s", describe(v))
}

func (n *plusNode) columnar(m *machine, sel []uint32, out *batch.Column) { rowByRow(n, m, sel, out) }
