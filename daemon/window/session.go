package window

import (
	"math"
	"sort"
)

// Sessions. A row at ts first has the window [ts, ts+gap) of its own. Windows of one key that overlap or touch are one session (8.1).
//
// NB: as in Flink, a session ends where its last row's window ends, and is over when the watermark has reached the millisecond before.
// A row exactly at the end still belongs to it as long as it is there. So a row one gap after another joins it, unless a watermark of
// that very millisecond, from elsewhere, came in between; with an assigner's own watermarks, which lie below its rows, none does.
//
// With a MaxLength no session grows longer than that, by these rules:
//
//   - A row belongs to the last session that began at or before it when it touches that and lies less than MaxLength after its start;
//     the session then ends at its start + MaxLength at the latest. A row that lies further on begins a session of its own, though
//     the two may touch.
//   - Two sessions that a row joins become one only when the whole is not longer than MaxLength; otherwise the earlier one ends where
//     the later one starts.
//
// So the sessions of a key never overlap, and where two of them touch, both together are longer than MaxLength.

// sessionList is the sessions of one key, ascending.
type sessionList interface {
	len() int
	span(i int) Span
}

// placeSession says which sessions, from..to-1 of l, a row's own window becomes one with, and the whole that results. When none
// does, from == to is the place of the new session in the list.
func placeSession[L sessionList](l L, own Span, maxLength int64) (from, to int, whole Span) {
	n := l.len()
	i := n
	if n > 0 && l.span(n-1).Start > own.Start {
		i = sort.Search(n, func(k int) bool { return l.span(k).Start > own.Start })
	}
	from, to, whole = i, i, own
	whole.End = min(whole.End, longestEnd(own.Start, maxLength))
	if i > 0 {
		before := l.span(i - 1)
		limit := longestEnd(before.Start, maxLength)
		if own.Start <= before.End && (own.Start < limit || limit == math.MaxInt64) {
			from = i - 1
			whole = Span{before.Start, max(before.End, min(own.End, limit))}
		}
	}
	for ; to < n; to++ {
		next := l.span(to)
		if next.Start > whole.End {
			break
		}
		if subSaturating(next.End, whole.Start) > maxLength {
			whole.End = min(whole.End, next.Start)
			break
		}
		whole.End = max(whole.End, next.End)
	}
	return from, to, whole
}

// longestEnd is where a session that begins at start is cut.
func longestEnd(start, maxLength int64) int64 {
	if maxLength == math.MaxInt64 {
		return math.MaxInt64
	}
	return addSaturating(start, maxLength)
}

// entryList is the sessions of a key in the operator.
type entryList struct {
	all []entry
	ids []uint32
}

func (l entryList) len() int        { return len(l.ids) }
func (l entryList) span(i int) Span { return l.all[l.ids[i]].span }

func (g *general) sessionRow(rows *Rows, row, key uint32, ts int64) {
	own := Span{ts, addSaturating(ts, g.gap(row))}
	maxLength := int64(math.MaxInt64)
	if g.spec.MaxLength > 0 {
		maxLength = g.spec.MaxLength
	}
	var ids []uint32
	if key != noKey {
		l := &g.keys.records[key].windows
		if l.n == 1 && g.spec.MaxLength == 0 {
			// Most rows go on with the only session of their key, which has not ended.
			e := &g.entries.all[l.ref[0]]
			if e.span.Start <= ts && ts <= e.span.End && !e.is(ended) {
				e.span.End = max(e.span.End, own.End)
				g.take(l.ref[0], row, ts)
				return
			}
		}
		ids = g.lists.all(l)
	}
	from, to, whole := placeSession(entryList{g.entries.all, ids}, own, maxLength)
	if from == to {
		if g.isLate(whole.End) {
			g.rejected(row, ts)
			return
		}
		key = g.keyOf(rows, row, key)
		e := g.entries.add(whole, key)
		g.lists.insert(&g.keys.records[key].windows, from, e)
		g.take(e, row, ts)
		return
	}
	i := ids[from]
	if to-from > 1 {
		g.merge(key, from, to)
	}
	if to-from > 1 || g.entries.all[i].span != whole {
		g.stretch(i, whole)
	}
	g.take(i, row, ts)
}

// gap is the session gap of a row.
func (g *general) gap(row uint32) int64 { return g.spec.GapOf(g.gaps, int(row)) }

// stretch gives a session its new bounds. One whose end has come to lie ahead again waits for it, together with the late rows that
// were collected in it (8.3).
func (g *general) stretch(i uint32, whole Span) {
	e := &g.entries.all[i]
	if e.is(isStored) && whole.Start != e.span.Start {
		g.unstore(e)
	}
	e.span = whole
	if g.rules.end != endByRows {
		return // by the clock a session is dropped when it has fired, so none that has is ever stretched
	}
	if g.watermark < whole.MaxTimestamp() {
		if g.entries.hasMore {
			g.entries.extras[i].lateDue = notDue
		}
		e.flags &^= ended
	} else {
		// The row that has stretched it fires it (8.7).
		e.flags |= ended
		e.next = notDue
	}
}

// merge unites the sessions from..to-1 of a key in the first of them (8.6). Its bounds are set afterwards.
func (g *general) merge(key uint32, from, to int) {
	g.flush()
	l := &g.keys.records[key].windows
	i := g.lists.all(l)[from]
	for to--; to > from; to-- {
		// The next one each time, so that rows and retractions keep the order of time.
		o := g.lists.all(l)[from+1]
		e, other := &g.entries.all[i], &g.entries.all[o]
		dst, src := [1]uint32{g.entries.at(i)}, [1]uint32{g.entries.at(o)}
		if other.is(filled) {
			g.layout.Merge(g.entries.mem, dst[:], &g.heap, g.entries.mem, src[:], &g.heap)
		}
		e.flags |= other.flags & (filled | changed)
		e.count += other.count
		e.firings = max(e.firings, other.firings)
		e.next = min(e.next, other.next)
		if g.entries.hasMore {
			g.mergeExtra(&g.entries.extras[i], &g.entries.extras[o])
		}
		g.remove(o)
		g.lists.remove(l, from+1)
	}
}

// mergeExtra does the same for what only some operators keep. The results that have been given for a session that is merged away can
// be taken back only by the one that it has become part of.
func (g *general) mergeExtra(x, other *extra) {
	x.clock = min(x.clock, other.clock)
	x.lateDue = min(x.lateDue, other.lateDue)
	link := &x.retractions
	for *link != noResult {
		link = &g.shown.all[*link].next
	}
	*link = other.retractions
	other.retractions = noResult
}
