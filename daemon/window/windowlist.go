package window

import "slices"

// windowList is the entries of one key, ascending by start. Most keys have one window, which stands in the list itself; others have
// a run of memory in lists. Windows end at the front and begin at the back, and a list is cheap at both ends however long it is.
type windowList struct {
	ref   [1]uint32 // n <= 1: the entry; else the place of the first one
	n     uint32
	block uint32 // n > 1: where the run begins
	class uint32 // n > 1: the run has 1<<class places
}

// lists is the memory of the window lists of all keys.
type lists struct {
	mem  []uint32
	free [33][]uint32 // runs that are not in use, by class
}

// all is the entries of l. The slice is valid until a list changes.
func (m *lists) all(l *windowList) []uint32 {
	if l.n <= 1 {
		return l.ref[:l.n]
	}
	return m.mem[l.ref[0]:][:l.n:l.n]
}

// insert puts entry e at place i of l, 0 <= i <= n.
func (m *lists) insert(l *windowList, i int, e uint32) {
	if l.n == 0 {
		l.ref[0], l.n = e, 1
		return
	}
	if l.n == 1 {
		first := l.ref[0]
		l.class = 2
		l.block = m.alloc(l.class)
		l.ref[0] = l.block
		m.mem[l.block] = first
	} else if l.ref[0]+l.n == l.block+1<<l.class {
		m.makeRoom(l)
	}
	l.n++
	run := m.all(l)
	copy(run[i+1:], run[i:])
	run[i] = e
}

// makeRoom lets a run that has reached the end of its memory go on: at the start of it again, when at least half of it is unused
// there, or in one twice as large.
func (m *lists) makeRoom(l *windowList) {
	run := m.all(l)
	if used := l.ref[0] - l.block; used >= 1<<l.class/2 {
		copy(m.mem[l.block:], run)
		l.ref[0] = l.block
		return
	}
	block := m.alloc(l.class + 1)
	copy(m.mem[block:], m.all(l)) // the memory may have moved
	m.free[l.class] = append(m.free[l.class], l.block)
	l.block, l.ref[0] = block, block
	l.class++
}

// remove takes out the entry at place i.
func (m *lists) remove(l *windowList, i int) {
	if l.n <= 1 {
		l.n = 0
		return
	}
	run := m.all(l)
	if i == 0 {
		l.ref[0]++
	} else {
		copy(run[i:], run[i+1:])
	}
	l.n--
	if l.n == 1 {
		left := m.mem[l.ref[0]]
		m.free[l.class] = append(m.free[l.class], l.block)
		l.ref[0] = left
	}
}

// clear takes out all entries.
func (m *lists) clear(l *windowList) {
	if l.n > 1 {
		m.free[l.class] = append(m.free[l.class], l.block)
	}
	l.n = 0
}

func (m *lists) alloc(class uint32) uint32 {
	if f := m.free[class]; len(f) > 0 {
		m.free[class] = f[:len(f)-1]
		return f[len(f)-1]
	}
	at := len(m.mem)
	if uint64(at)+1<<class > 1<<32 {
		panic("window: more than four billion windows in one shard")
	}
	m.mem = slices.Grow(m.mem, 1<<class)[:at+1<<class]
	return uint32(at)
}
