package window

import (
	"math"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// MaxRepeats is how many equal results of one window a continuous trigger emits in one advance. Flink gives one for each interval
// that the watermark or the clock has jumped over, which is without bound; what goes beyond is counted in [Output.Collapsed].
const MaxRepeats = 1000

// AdvanceWatermark sets the watermark first, then runs what is due, in order of time, then window end, then key (2.3, 9.1).
func (g *general) AdvanceWatermark(watermark int64) {
	if watermark <= g.watermark {
		return
	}
	g.watermark = watermark
	if g.disk != nil {
		g.advanceKeys()
		return
	}
	if g.events.isDue(watermark) {
		g.advance(watermark, &g.events, false)
	}
}

// AdvanceProcessingTime: a window over the clock fires when the clock shows its end, that is, when its last millisecond is over
// (12.2). A clock that goes back is ignored.
func (g *general) AdvanceProcessingTime(now int64) {
	over := now
	if now != math.MaxInt64 {
		over = subSaturating(now, 1)
	}
	if over <= g.clock {
		return
	}
	g.clock = over
	if g.alarms.isDue(over) {
		g.advance(over, &g.alarms, true)
	}
}

func (g *general) NextProcessingTime() int64 { return addSaturating(g.alarms.next(), 1) }

// advance runs everything that is due at or before to. What an entry has to do after that, and is due too, runs in its turn. Where keys lie in the
// store it may be called for a part of the way to the watermark.
func (g *general) advance(to int64, q *timers, byClock bool) {
	g.writer.open(g.out)
	g.expired = q.take(to, g.expired[:0])
	g.work = g.work[:0]
	for _, t := range g.expired {
		e := &g.entries.all[t.entry]
		if e.gen != t.gen || !e.is(inUse) {
			continue
		}
		set := &e.timer
		if byClock {
			set = &g.entries.extra(t.entry).alarm
		}
		if *set > to || *set == math.MaxInt64 {
			continue // an earlier timer of the same entry has been taken before this one
		}
		*set = math.MaxInt64
		if at := g.nextDue(t.entry, e, byClock); at <= to && at != notDue {
			g.work = append(g.work, dueEntry{at: at, end: e.span.End, hash: g.keys.records[e.key].hash, entry: t.entry})
		} else {
			g.schedule(t.entry) // it was due later than its timer said
		}
	}
	slices.SortFunc(g.work, g.compareDue)
	for k := 0; k < len(g.work) || len(g.again) > 0; {
		var d dueEntry
		if len(g.again) > 0 && (k == len(g.work) || g.compareDue(g.again[0], g.work[k]) < 0) {
			d = g.popAgain()
		} else {
			if k%run == 0 && len(g.keys.records) > warmAbove {
				g.warmDue(g.work[k:min(k+run, len(g.work))])
			}
			d = g.work[k]
			k++
		}
		there := g.runDue(&d, to, byClock)
		if g.overflow(); g.disk != nil && g.disk.err != nil {
			return
		}
		if !there {
			continue
		}
		if at := g.nextDue(d.entry, &g.entries.all[d.entry], byClock); at <= to && at != notDue {
			d.at = at
			g.pushAgain(d)
		} else {
			g.schedule(d.entry)
		}
	}
	if to == math.MaxInt64 {
		g.endOfTime(byClock)
	}
}

// warmDue reads what is needed to fire and drop entries, see warm.
func (g *general) warmDue(part []dueEntry) {
	var keys [run]uint32
	sum := uint64(0)
	for i, d := range part {
		keys[i] = g.entries.all[d.entry].key
		if g.entries.words > 0 {
			sum += g.entries.mem[g.entries.at(d.entry)]
		}
	}
	mask := uint64(len(g.keys.slots) - 1)
	for i, d := range part {
		sum += uint64(g.keys.records[keys[i]].size) + g.keys.slots[d.hash&mask]
	}
	g.warmed = int64(sum) // or the compiler would leave the reads out
}

func (g *general) nextDue(i uint32, e *entry, byClock bool) int64 {
	if byClock {
		return g.clockDue(i, e)
	}
	return g.eventDue(i, e)
}

// runDue does what an entry has to do at d.at: fire at most once, then drop the window when its time has come. It says whether the
// entry is still there.
func (g *general) runDue(d *dueEntry, to int64, byClock bool) bool {
	e, x := &g.entries.all[d.entry], g.entries.extra(d.entry)
	fires, timing := false, OnTime
	switch {
	case g.endsAt(e, d.at, byClock):
		fires = true
		e.flags |= ended
		e.next = notDue
		if g.spec.ProcessingTime {
			x.clock = notDue
		}
	case !byClock && e.next <= d.at:
		// The end fires by itself, so the schedule has to go to the instant before it.
		fires, timing = g.onSchedule(d, e, &e.next, g.rules.eventEvery, min(to, subSaturating(e.span.MaxTimestamp(), 1))), Early
		if (to == math.MaxInt64 || g.watermark == math.MaxInt64) && e.span.End == math.MaxInt64 {
			fires, e.next = false, notDue // the end of input is the end of the window: no time is left to divide
		} else if g.rules.exact {
			e.next = min(e.next, e.span.MaxTimestamp())
		}
	case byClock && x.clock <= d.at:
		fires, timing = g.onSchedule(d, e, &x.clock, g.rules.processingEvery, to), Early
		if g.watermark >= e.span.MaxTimestamp() && !g.spec.ProcessingTime {
			timing = Late
		}
	}
	drops := !byClock != g.spec.ProcessingTime && g.dropTime(e.span.End) <= d.at && g.dropTime(e.span.End) != math.MaxInt64
	if !byClock && x.lateDue != notDue && (x.lateDue <= d.at || drops) {
		fires, timing = true, Late
		x.lateDue = notDue
	}
	if fires {
		if n := g.fire(d.entry, timing); n > 0 {
			g.writer.segment(g.out.Place, d.at, d.end, n)
		}
	}
	if drops {
		g.drop(d.entry)
		return false
	}
	g.touch(d.entry, e)
	return true
}

// endsAt says whether time at, of the queue that is running, is the end of the window, and its result has not been given.
func (g *general) endsAt(e *entry, at int64, byClock bool) bool {
	if e.is(ended) || e.span.MaxTimestamp() > at {
		return false
	}
	return g.rules.end == endByRows && !byClock || g.rules.end == endByClock && byClock
}

// onSchedule runs one firing of a schedule, says whether it gives a result, and moves *next on. last is the last instant of the
// schedule that this advance can reach.
func (g *general) onSchedule(d *dueEntry, e *entry, next *int64, every, last int64) bool {
	if !g.rules.exact {
		*next = notDue // the next row starts it again
		return e.is(changed)
	}
	if last == math.MaxInt64 {
		*next = notDue // the clock has come to its end
		return true
	}
	if e.is(changed) {
		d.repeats = 0
	} else {
		d.repeats++
	}
	if e.is(filled) && d.repeats < MaxRepeats {
		*next = addSaturating(*next, every)
		return true
	}
	// An empty window has nothing to repeat, and of the others it is enough: go on behind the last instant.
	n := max(0, subSaturating(last, *next)/every) + 1
	if e.is(filled) {
		g.out.Collapsed += uint64(n)
	}
	*next = addSaturating(*next, mulSaturating(n, every))
	return false
}

// endOfTime fires the windows that are over at the end of input only. It happens once, so a walk over all entries is cheaper than a
// timer for each of them would be.
func (g *general) endOfTime(byClock bool) {
	g.work = g.work[:0]
	for i := range g.entries.all {
		e := &g.entries.all[i]
		if !e.is(inUse) || e.span.End != math.MaxInt64 || e.is(ended) {
			continue
		}
		if !byClock && (g.rules.end == endByRows || g.rules.end == endWithInput) || byClock && g.rules.end == endByClock {
			g.work = append(g.work, dueEntry{at: math.MaxInt64, end: e.span.End, hash: g.keys.records[e.key].hash, entry: uint32(i)})
		}
	}
	slices.SortFunc(g.work, g.compareDue)
	if g.disk != nil && g.disk.away && g.spec.Type == Global {
		g.endOfKeys()
		return
	}
	g.fireAtEnd(g.work)
}

// fireAtEnd fires windows that the end of input ends.
func (g *general) fireAtEnd(work []dueEntry) {
	for _, d := range work {
		e := &g.entries.all[d.entry]
		e.flags |= ended
		e.next = notDue
		if g.entries.hasMore {
			g.entries.extras[d.entry].clock = notDue
		}
		if n := g.fire(d.entry, OnTime); n > 0 {
			g.writer.segment(g.out.Place, d.at, d.end, n)
		}
		g.touch(d.entry, e)
		if g.overflow(); g.disk != nil && g.disk.err != nil {
			return
		}
	}
}

// fire emits what an entry has, and returns the number of rows written. A window without rows emits nothing (7.6).
func (g *general) fire(i uint32, timing Timing) int {
	e := &g.entries.all[i]
	if !e.is(filled) {
		return 0
	}
	n := 1
	tag, key := g.keys.records[e.key].tag, g.keys.key(e.key)
	for r := g.entries.extra(i).retractions; r != noResult; n++ {
		s := &g.shown.all[r]
		old := s.result
		old.retract = true
		g.writer.add(old, tag, key, g.shown.mem, g.shown.at(r), &g.heap)
		next := s.next
		g.forget(r)
		r = next
	}
	res := result{span: e.span, watermark: g.watermark, firing: e.firings, timing: timing}
	if g.spec.ProcessingTime {
		res.watermark = batch.NoWatermark
	}
	g.writer.add(res, tag, key, g.entries.mem, g.entries.at(i), &g.heap)
	e.firings++
	e.flags &^= changed
	if g.rules.retract {
		g.remember(i, res)
	}
	if g.rules.purge {
		g.layout.Clear(g.entries.mem, g.entries.at(i), &g.heap)
		e.flags &^= filled
	}
	return n
}

// remember keeps a copy of a result that has just been emitted, for the retraction that the next firing begins with.
func (g *general) remember(i uint32, res result) {
	r := g.shown.add(res)
	to, from := [1]uint32{g.shown.at(r)}, [1]uint32{g.entries.at(i)}
	g.layout.Merge(g.shown.mem, to[:], &g.heap, g.entries.mem, from[:], &g.heap)
	g.entries.extra(i).retractions = r
}

// forget drops a result that was taken back or can no longer be.
func (g *general) forget(r uint32) {
	g.layout.Clear(g.shown.mem, g.shown.at(r), &g.heap)
	g.shown.free = append(g.shown.free, r)
}
