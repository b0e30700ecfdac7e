package window

// take adds a row to an entry and does what the trigger says about it (7.5).
func (g *general) take(i, row uint32, ts int64) {
	g.pending.at = append(g.pending.at, g.entries.at(i))
	g.pending.rows = append(g.pending.rows, row)
	e := &g.entries.all[i]
	e.flags |= filled | changed
	g.touch(i, e)
	if last := e.span.MaxTimestamp(); g.plain && g.watermark < last {
		if e.timer > last {
			g.schedule(i)
		}
		return
	}
	if g.trigger(i, e, ts) {
		g.flush()
		if n := g.fire(i, g.timingNow(e)); n > 0 {
			g.writer.segment(row, 0, g.entries.all[i].span.End, n)
		}
	}
	g.schedule(i)
}

// trigger notes what a row means for the entry's schedules, and says whether it fires.
func (g *general) trigger(i uint32, e *entry, ts int64) (fire bool) {
	r := &g.rules
	last := e.span.MaxTimestamp()
	over := g.now() >= last && g.spec.Type != Global
	if r.count > 0 && !(r.countEarly && over) {
		if e.count++; e.count >= r.count {
			e.count = 0
			fire = true
		}
	}
	switch {
	case over && r.fireLate:
		e.flags |= ended
		if g.spec.LateEvery == 0 {
			return true
		}
		if x := g.entries.extra(i); x.lateDue == notDue {
			x.lateDue = g.lateFiring()
		}
	case r.end == endByClock && !g.spec.ProcessingTime:
		e.flags &^= ended // each row asks for the clock to be looked at again
	}
	if over {
		return fire
	}
	if r.eventEvery > 0 && e.next == notDue {
		e.next = g.firstFiring(ts, last)
	}
	if r.processingEvery > 0 {
		if x := g.entries.extra(i); x.clock == notDue {
			x.clock = nextMultiple(addSaturating(g.clock, 1), r.processingEvery) - 1
		}
	}
	return fire
}

// lateFiring is when late rows that are collected from now on fire: at the first watermark that says that everything before the next
// multiple of LateEvery has come. Multiples, rather than a distance from the row, keep the result the same whatever marks between
// two multiples are left out.
func (g *general) lateFiring() int64 {
	return nextMultiple(addSaturating(g.watermark, 1), g.spec.LateEvery) - 1
}

// firstFiring is when the schedule of a window begins to which a row at ts has come.
func (g *general) firstFiring(ts, last int64) int64 {
	every := g.rules.eventEvery
	if g.rules.exact {
		// Flink's remainder truncates toward zero (10.3).
		return min(addSaturating(ts-ts%every, every), last)
	}
	due := nextMultiple(max(ts, addSaturating(g.watermark, 1)), every) - 1
	if due >= last {
		return notDue // the end comes first
	}
	return due
}

// flush does the aggregation that take has noted.
func (g *general) flush() {
	p := &g.pending
	if len(p.at) == 0 {
		return
	}
	g.layout.Add(g.entries.mem, p.at, p.rows, &g.heap)
	p.at, p.rows = p.at[:0], p.rows[:0]
}

// touch notes that an entry differs from what the last snapshot has.
func (g *general) touch(i uint32, e *entry) {
	if !e.is(dirty) {
		e.flags |= dirty
		if g.disk != nil {
			g.touchKey(e.key)
			return
		}
		g.changes = append(g.changes, i)
	}
}
