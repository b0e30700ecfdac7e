package window

// usesClock says whether anything waits for the clock.
func (g *general) usesClock() bool {
	return g.spec.ProcessingTime || g.rules.end == endByClock || g.rules.processingEvery > 0
}

// eventDue is the watermark at which the entry has something to do next.
func (g *general) eventDue(i uint32, e *entry) int64 {
	if g.spec.ProcessingTime {
		return notDue
	}
	due := min(g.dropTime(e.span.End), e.next)
	if g.entries.hasMore {
		due = min(due, g.entries.extras[i].lateDue)
	}
	if g.rules.end == endByRows && !e.is(ended) {
		due = min(due, e.span.MaxTimestamp())
	}
	return due
}

// clockDue is the same for the clock.
func (g *general) clockDue(i uint32, e *entry) int64 {
	due := g.entries.extra(i).clock
	if g.spec.ProcessingTime {
		due = min(due, g.dropTime(e.span.End))
	}
	if g.rules.end == endByClock && !e.is(ended) {
		due = min(due, e.span.MaxTimestamp())
	}
	return due
}

// schedule sets timers where the ones that are set would come too late. notDue and the end of time are the same number, so what waits
// for the end of input has no timer, see endOfTime.
func (g *general) schedule(i uint32) {
	e := &g.entries.all[i]
	if due := g.eventDue(i, e); due < e.timer {
		e.timer = due
		g.events.push(due, i, e.gen)
	}
	if !g.usesClock() {
		return
	}
	if due, x := g.clockDue(i, e), g.entries.extra(i); due < x.alarm {
		x.alarm = due
		g.alarms.push(due, i, e.gen)
	}
}

// remove forgets an entry. Its list is left to the caller.
func (g *general) remove(i uint32) {
	e := &g.entries.all[i]
	if e.is(isStored) {
		g.unstore(e)
	}
	g.release(i)
}

// release gives the memory of an entry back.
func (g *general) release(i uint32) {
	e := &g.entries.all[i]
	for r := g.entries.extra(i).retractions; r != noResult; {
		next := g.shown.all[r].next
		g.forget(r)
		r = next
	}
	if e.is(filled) {
		g.layout.Clear(g.entries.mem, g.entries.at(i), &g.heap)
	}
	g.entries.remove(i)
}

// drop forgets an entry and, with its last one, the key.
func (g *general) drop(i uint32) {
	e := &g.entries.all[i]
	key, span := e.key, e.span
	g.remove(i)
	l := &g.keys.records[key].windows
	list := g.lists.all(l)
	// The oldest window goes first, as a rule.
	k := 0
	if list[0] != i {
		k = g.placeOf(key, span)
	}
	g.lists.remove(l, k)
	switch {
	case g.disk != nil:
		g.lessOf(key)
	case l.n == 0:
		g.keys.remove(key)
	}
}
