package window

import (
	"cmp"
	"math"
)

// indexTime is where a key belongs in the index; noIndex = nothing is going to happen to it by itself.
func (g *general) indexTime(k uint32) int64 {
	due, atEnd := int64(notDue), false
	for _, i := range g.lists.all(&g.keys.records[k].windows) {
		e := &g.entries.all[i]
		due = min(due, g.eventDue(i, e))
		atEnd = atEnd || g.firesAtEndOfTime(e)
	}
	switch {
	case due != notDue:
		return max(firstTime, subSaturating(due, floorMod(due, g.disk.width)))
	case atEnd:
		return lastTime
	}
	return noIndex
}

// list notes where the index has a key.
func (d *keyDisk) list(k uint32, at int64) {
	if at == noIndex {
		return
	}
	b := d.buckets[at]
	d.places[k] = keyPlace{at, len(b)}
	d.buckets[at] = append(b, k)
	d.closes = min(d.closes, d.lastOf(at))
}

// unlist forgets where the index has a key.
func (d *keyDisk) unlist(k uint32) {
	p := d.places[k]
	if p.at == noIndex {
		return
	}
	b := d.buckets[p.at]
	last := len(b) - 1
	b[p.i] = b[last]
	d.places[b[p.i]].i = p.i
	d.places[k] = keyPlace{at: noIndex}
	d.buckets[p.at] = b[:last]
}

// lastOf is the last instant that a time of the index stands for; the last time of all is never over.
func (d *keyDisk) lastOf(at int64) int64 {
	if at == lastTime {
		return math.MaxInt64
	}
	return addSaturating(at-floorMod(at, d.width), d.width-1)
}

// advanceKeys is AdvanceWatermark where keys lie in the store. They are read when their time in the index has come, one time after the other, so that
// what is due at the end of input needs not be in memory all at once.
func (g *general) advanceKeys() {
	d := g.disk
	for d.err == nil && d.away && d.next <= g.watermark {
		if !d.settle() {
			return
		}
		at, found, err := d.store.Next(max(d.next, firstTime))
		switch {
		case err != nil:
			d.err = err
			return
		case !found:
			d.next = math.MaxInt64
			at = math.MaxInt64
		default:
			d.next = at
		}
		if at > g.watermark || at == lastTime {
			break
		}
		// Flink's continuous trigger counts what it leaves out in one advance, and it has to be one.
		if before := at - 1; !g.rules.exact && g.events.isDue(before) {
			g.advance(before, &g.events, false)
		}
		g.readDue(at)
		d.next = at + 1
	}
	if d.err == nil && g.watermark == math.MaxInt64 && d.away && g.spec.Type != Global {
		g.readDue(lastTime) // hardly ever any: sessions that last to the end of time
	}
	if d.err == nil && g.events.isDue(g.watermark) {
		g.advance(g.watermark, &g.events, false)
	}
	if g.watermark >= d.closes {
		g.closeIndex()
	}
}

// readDue brings the keys into memory that the index has at a time.
func (g *general) readDue(at int64) {
	d := g.disk
	first, last := d.store.Hashes()
	err := d.store.Scan(at, first, last, func(hash uint64, key, _ []byte) bool {
		g.loadIndexed(hash, key)
		return d.err == nil
	})
	d.err = cmp.Or(d.err, err)
}

// loadIndexed brings the key of an entry of the index into memory. It is noKey where it is there.
func (g *general) loadIndexed(hash uint64, key []byte) uint32 {
	if len(key) < 2 || key[0] != indexMark {
		g.disk.err = cmp.Or(g.disk.err, errIndex)
		return noKey
	}
	if g.keys.find(hash, key[1], key[2:]) != noKey {
		return noKey
	}
	k := g.load(hash, key[1], key[2:])
	if k == noKey {
		g.disk.err = cmp.Or(g.disk.err, errIndex)
	}
	return k
}

// closeIndex removes the times of the index that are over. What keys they had and that are still there have to be put in again.
func (g *general) closeIndex() {
	d := g.disk
	d.closes = math.MaxInt64
	for _, at := range d.sortedTimes() {
		last := d.lastOf(at)
		if last > g.watermark || at == lastTime {
			d.closes = min(d.closes, last)
			continue
		}
		for _, k := range d.buckets[at] {
			d.places[k] = keyPlace{at: noIndex}
			g.touchKey(k)
		}
		delete(d.buckets, at)
		d.drops = append(d.drops, at)
	}
}
