package transform

import (
	"bytes"
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// relation is a comparison.
type relation uint8

const (
	equal relation = iota
	unequal
	less
	lessOrEqual
	greater
	greaterOrEqual
)

var relationNames = [...]string{"==", "!=", "<", "<=", ">", ">="}

func (r relation) String() string { return relationNames[r] }

// mirrored is the relation with its sides exchanged.
func (r relation) mirrored() relation {
	return [...]relation{equal, unequal, greater, greaterOrEqual, less, lessOrEqual}[r]
}

// holds says whether the relation holds for an order of -1, 0 or 1.
func (r relation) holds(c int) bool {
	switch r {
	case equal:
		return c == 0
	case unequal:
		return c != 0
	case less:
		return c < 0
	case lessOrEqual:
		return c <= 0
	case greater:
		return c > 0
	}
	return c >= 0
}

// compareNode is a comparison. With a null on either side it is null.
type compareNode struct {
	typed
	relation    relation
	left, right node
}

func (n *compareNode) compute(m *machine) value {
	l := n.left.compute(m)
	if l.kind == failed {
		return l
	}
	return n.compare(m, l, n.right.compute(m))
}

func (n *compareNode) compare(m *machine, l, r value) value {
	switch {
	case l.kind == failed:
		return l
	case r.kind == failed:
		return r
	case l.isNull() || r.isNull():
		return null
	case n.relation <= unequal:
		return boolValue(m.equal(l, r) == (n.relation == equal))
	}
	c, comparable, ok := compare(l, r)
	if !comparable {
		return m.fail("%s %s %s cannot be compared", describe(l), n.relation, describe(r))
	}
	return boolValue(ok && n.relation.holds(c))
}

func (n *compareNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	used := m.used
	defer m.release(used)
	if k, ok := n.right.(*constNode); ok {
		n.withConstant(m, sel, out, operand(n.left, m, sel), k.v, n.relation)
		return
	}
	if k, ok := n.left.(*constNode); ok {
		n.withConstant(m, sel, out, operand(n.right, m, sel), k.v, n.relation.mirrored())
		return
	}
	l, r := operand(n.left, m, sel), operand(n.right, m, sel)
	lk, lok := l.Uniform()
	rk, rok := r.Uniform()
	if lok && rok && lk == rk {
		switch lk {
		case batch.Int, batch.Time:
			for _, row := range sel {
				setBool(out, row, n.relation.holds(order(int64(l.Bits[row]), int64(r.Bits[row]))))
			}
			out.Present |= 1 << batch.Bool
			return
		case batch.Float:
			for _, row := range sel {
				x, y := math.Float64frombits(l.Bits[row]), math.Float64frombits(r.Bits[row])
				setBool(out, row, n.relation.floats(x, y))
			}
			out.Present |= 1 << batch.Bool
			return
		}
	}
	for _, row := range sel {
		m.put(out, int(row), n.compare(m, m.cell(l, int(row)), m.cell(r, int(row))))
	}
}

// floats is the relation of two floats; with a NaN only != holds.
func (r relation) floats(x, y float64) bool {
	switch r {
	case equal:
		return x == y
	case unequal:
		return x != y
	case less:
		return x < y
	case lessOrEqual:
		return x <= y
	case greater:
		return x > y
	}
	return x >= y
}

// withConstant compares a column with a constant, the column on the left side of rel. Columns of one kind take a loop without branches
// on kinds.
func (n *compareNode) withConstant(m *machine, sel []uint32, out *batch.Column, c *batch.Column, k value, rel relation) {
	kind, uniform := c.Uniform()
	switch {
	case !uniform:
	case kind == batch.Int && k.kind == batch.Int || kind == batch.Time && k.kind == batch.Time:
		compareInts(sel, out, c.Bits, k.int(), rel)
		return
	case kind == batch.Float && k.isNumber() && k.number().kind != batch.Uint && exactFloat(k.number()):
		compareFloats(sel, out, c.Bits, asFloat(k.number()), rel)
		return
	case kind == batch.String && k.kind == batch.String && rel <= unequal:
		n.compareText(m, sel, out, c, k.text, rel)
		return
	}
	for _, row := range sel {
		v := m.cell(c, int(row))
		if rel == n.relation {
			v = n.compare(m, v, k)
		} else {
			v = n.compare(m, k, v)
		}
		m.put(out, int(row), v)
	}
}

// exactFloat is true for a constant that a float holds exactly, so that comparing floats compares the numbers.
func exactFloat(v value) bool {
	return v.kind == batch.Float || v.int() >= -1<<53 && v.int() <= 1<<53
}

func compareInts(sel []uint32, out *batch.Column, bits []uint64, k int64, rel relation) {
	kinds, results := out.Kinds, out.Bits
	switch rel {
	case equal, unequal:
		same := uint64(0)
		if rel == equal {
			same = 1
		}
		for _, row := range sel {
			r := same ^ 1
			if int64(bits[row]) == k {
				r = same
			}
			kinds[row], results[row] = batch.Bool, r
		}
	case less, greaterOrEqual:
		below := uint64(0)
		if rel == less {
			below = 1
		}
		for _, row := range sel {
			r := below ^ 1
			if int64(bits[row]) < k {
				r = below
			}
			kinds[row], results[row] = batch.Bool, r
		}
	default:
		above := uint64(0)
		if rel == greater {
			above = 1
		}
		for _, row := range sel {
			r := above ^ 1
			if int64(bits[row]) > k {
				r = above
			}
			kinds[row], results[row] = batch.Bool, r
		}
	}
	out.Present |= 1 << batch.Bool
}

func compareFloats(sel []uint32, out *batch.Column, bits []uint64, k float64, rel relation) {
	kinds, results := out.Kinds, out.Bits
	set := func(row uint32, is bool) {
		r := uint64(0)
		if is {
			r = 1
		}
		kinds[row], results[row] = batch.Bool, r
	}
	switch rel {
	case greater:
		for _, row := range sel {
			set(row, math.Float64frombits(bits[row]) > k)
		}
	case less:
		for _, row := range sel {
			set(row, math.Float64frombits(bits[row]) < k)
		}
	default:
		for _, row := range sel {
			set(row, rel.floats(math.Float64frombits(bits[row]), k))
		}
	}
	out.Present |= 1 << batch.Bool
}

func (n *compareNode) compareText(m *machine, sel []uint32, out *batch.Column, c *batch.Column, k []byte, rel relation) {
	for _, row := range sel {
		same := uint32(c.Bits[row]) == uint32(len(k)) && bytes.Equal(m.b.Text(c.Bits[row]), k)
		setBool(out, row, same == (rel == equal))
	}
	out.Present |= 1 << batch.Bool
}

func setBool(out *batch.Column, row uint32, is bool) {
	r := uint64(0)
	if is {
		r = 1
	}
	out.Kinds[row], out.Bits[row] = batch.Bool, r
}
