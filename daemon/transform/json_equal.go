package transform

import "bytes"

// maxDepth is how deep lists and objects are compared by their parts; below it their texts are compared. Walking into something
// very deep would take a time that grows with its square.
const maxDepth = 64

// equalJSON compares arrays element by element and objects by their members, whatever their order.
func (m *machine) equalJSON(a, b value) bool {
	if m.depth++; m.depth > maxDepth {
		m.depth--
		return bytes.Equal(appendJSON(nil, a), appendJSON(nil, b))
	}
	defer func() { m.depth-- }()
	if x, ok := m.items(a); ok {
		y, ok := m.items(b)
		return ok && m.equalLists(x, y)
	}
	if b.list != nil {
		return false
	}
	n, same := 0, true
	seen := map[string]bool{}
	object := members(a.text, func(name, _ []byte) bool {
		plain := string(fromJSON(name).text)
		if seen[plain] {
			return true
		}
		seen[plain] = true
		n++
		x, _ := member(a.text, plain)
		y, there := member(b.text, plain)
		same = there && y != nil && m.equalOrNull(fromJSON(x), fromJSON(y))
		return same
	})
	if !object || !same {
		return false
	}
	others := map[string]bool{}
	if !members(b.text, func(name, _ []byte) bool {
		others[string(fromJSON(name).text)] = true
		return true
	}) {
		return false
	}
	return len(others) == n
}

func (m *machine) equalLists(a, b []value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !m.equalOrNull(a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalOrNull is equality inside of lists and objects, where null equals null.
func (m *machine) equalOrNull(a, b value) bool {
	if a.isNull() || b.isNull() {
		return a.isNull() && b.isNull()
	}
	return m.equal(a, b)
}
