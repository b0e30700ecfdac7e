package transform

import (
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/daemon/jsontext"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// memberNode is a step into a value: .name, ["name"] or [index].
type memberNode struct {
	typed
	of   node
	name string // when key is nil
	key  node
}

func (n *memberNode) compute(m *machine) value {
	v := n.of.compute(m)
	if v.kind == failed || v.isNull() {
		return v
	}
	if n.key == nil {
		return m.get(v, n.name)
	}
	k := n.key.compute(m)
	switch {
	case k.kind == failed:
		return k
	case k.isNull():
		return null
	case k.kind == batch.Int:
		return m.at(v, k.int())
	case k.kind == batch.String:
		return m.get(v, viewString(k.text))
	}
	return m.fail("[…] takes a name or a whole number, not %s", describe(k))
}

func (n *memberNode) columnar(m *machine, sel []uint32, out *batch.Column) { rowByRow(n, m, sel, out) }

// sliceNode is x[from:to] of a list or of a string's characters. Ends that lie outside are moved to the end; negative ones count from
// the end.
type sliceNode struct {
	typed
	of, from, to node // from and to may be nil
}

func (n *sliceNode) compute(m *machine) value {
	v := n.of.compute(m)
	if v.kind == failed || v.isNull() {
		return v
	}
	size := 0
	items, isList := m.items(v)
	switch {
	case isList:
		size = len(items)
	case v.kind == batch.String:
		size = utf8.RuneCount(v.text)
	default:
		return m.fail("[:] is for lists and strings, not %s", describe(v))
	}
	ends := [2]int{0, size}
	for i, e := range [2]node{n.from, n.to} {
		if e == nil {
			continue
		}
		k := e.compute(m)
		switch {
		case k.kind == failed:
			return k
		case k.isNull():
			return null
		case k.kind != batch.Int:
			return m.fail("[:] takes whole numbers, not %s", describe(k))
		}
		at := k.int()
		if at < 0 {
			at = max(at, -int64(size)) + int64(size)
		}
		ends[i] = int(min(at, int64(size)))
	}
	from, to := ends[0], max(ends[0], ends[1])
	if isList {
		return value{kind: batch.JSON, list: &list{items[from:to]}}
	}
	return textValue(v.text[runeOffset(v.text, from):runeOffset(v.text, to)])
}

// runeOffset is where character n begins.
func runeOffset(s []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
	return at
}

func (n *sliceNode) columnar(m *machine, sel []uint32, out *batch.Column) { rowByRow(n, m, sel, out) }

// listNode is [a, b, …].
type listNode struct {
	typed
	items []node
}

func (n *listNode) compute(m *machine) value {
	l := &list{items: make([]value, len(n.items))}
	for i, e := range n.items {
		if l.items[i] = e.compute(m); l.items[i].kind == failed {
			return l.items[i]
		}
	}
	return value{kind: batch.JSON, list: l}
}

func (n *listNode) columnar(m *machine, sel []uint32, out *batch.Column) { rowByRow(n, m, sel, out) }

// objectNode is {name: value, …}.
type objectNode struct {
	typed
	names  []node
	values []node
}

func (n *objectNode) compute(m *machine) value {
	var text []byte
	text = append(text, '{')
	for i := range n.names {
		k, v := n.names[i].compute(m), n.values[i].compute(m)
		switch {
		case k.kind == failed:
			return k
		case v.kind == failed:
			return v
		case k.kind != batch.String:
			return m.fail("a name in {…} is a string, not %s", describe(k))
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(jsontext.AppendString(text, k.text), ':')
		text = appendJSON(text, v)
	}
	return value{kind: batch.JSON, text: append(text, '}')}
}

func (n *objectNode) columnar(m *machine, sel []uint32, out *batch.Column) { rowByRow(n, m, sel, out) }

// elementNode is # inside a predicate: the element, or with index its number.
type elementNode struct {
	typed
	index bool
}

func (n *elementNode) compute(m *machine) value {
	s := &m.scopes[len(m.scopes)-1]
	if n.index {
		return intValue(int64(s.index))
	}
	return s.element
}

func (n *elementNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	rowByRow(n, m, sel, out)
}

// predicateNode is all, any, none, one, count, filter, map, find and sum: a condition (or for map and sum an expression) over each element
// of a list. A null list gives null; a condition that is null counts as not true.
type predicateNode struct {
	typed
	name string
	list node
	body node // nil: sum of the elements themselves
}

func (n *predicateNode) compute(m *machine) value {
	l := n.list.compute(m)
	if l.kind == failed || l.isNull() {
		return l
	}
	items, ok := m.items(l)
	if !ok {
		return m.fail("%s is for lists, not %s", n.name, describe(l))
	}
	var kept []value
	hits, sum := int64(0), intValue(0)
	m.scopes = append(m.scopes, scope{})
	depth := len(m.scopes)
	defer func() { m.scopes = m.scopes[:depth-1] }()
	for i, e := range items {
		v := e
		if n.body != nil {
			m.scopes[depth-1] = scope{e, i}
			v = n.body.compute(m)
		}
		if v.kind == failed {
			return v
		}
		switch n.name {
		case "map":
			kept = append(kept, v)
			continue
		case "sum":
			if v.isNull() {
				continue
			}
			if sum = m.arithmetic('+', sum, v); sum.kind == failed {
				return sum
			}
			continue
		}
		if v.kind > batch.Bool {
			return m.fail("the condition of %s is a bool, not %s", n.name, describe(v))
		}
		if v.isTrue() {
			hits++
		} else {
			if n.name == "all" {
				return boolValue(false)
			}
			continue
		}
		switch n.name {
		case "any":
			return boolValue(true)
		case "none":
			return boolValue(false)
		case "find":
			return e
		case "filter":
			kept = append(kept, e)
		}
	}
	switch n.name {
	case "all", "none":
		return boolValue(true)
	case "any":
		return boolValue(false)
	case "one":
		return boolValue(hits == 1)
	case "count":
		return intValue(hits)
	case "find":
		return null
	case "sum":
		return sum
	}
	return value{kind: batch.JSON, list: &list{kept}}
}

func (n *predicateNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	rowByRow(n, m, sel, out)
}
