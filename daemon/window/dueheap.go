package window

import (
	"bytes"
	"cmp"
)

// dueEntry is an entry with something to do in the current advance.
type dueEntry struct {
	at      int64 // when it is due
	end     int64 // of its window
	hash    uint64
	entry   uint32
	repeats uint32 // equal results so far in this advance
}

// compareDue is the order in which due entries run, and so the order of results: time, then the window's end, then the key, then
// the start (of windows that the end of time has cut).
func (g *general) compareDue(a, b dueEntry) int {
	switch {
	case a.at != b.at:
		return cmp.Compare(a.at, b.at)
	case a.end != b.end:
		return cmp.Compare(a.end, b.end)
	case a.hash != b.hash:
		return cmp.Compare(a.hash, b.hash)
	}
	x, y := &g.entries.all[a.entry], &g.entries.all[b.entry]
	if x.key != y.key {
		if c := bytes.Compare(g.keys.key(x.key), g.keys.key(y.key)); c != 0 {
			return c
		}
		return cmp.Compare(g.keys.records[x.key].tag, g.keys.records[y.key].tag)
	}
	return cmp.Compare(x.span.Start, y.span.Start)
}

// dueHeap is a binary heap of entries that have become due again while an advance runs.
type dueHeap []dueEntry

func (g *general) pushAgain(d dueEntry) {
	h := append(g.again, d)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if g.compareDue(h[parent], h[i]) <= 0 {
			break
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
	g.again = h
}

func (g *general) popAgain() dueEntry {
	h := g.again
	top, n := h[0], len(h)-1
	h[0] = h[n]
	h = h[:n]
	for i := 0; ; {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && g.compareDue(h[child+1], h[child]) < 0 {
			child++
		}
		if g.compareDue(h[i], h[child]) <= 0 {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	g.again = h
	return top
}
