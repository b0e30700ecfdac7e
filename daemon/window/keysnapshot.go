package window

// What a snapshot writes of keys, and which keys may leave memory with it.

// snapshotKeys is Snapshot where keys lie in the store. A barrier comes only after the commit of the one before, so what that has handed over
// has come to the store.
func (g *general) snapshotKeys(w StateWriter) {
	d := g.disk
	if d.err != nil {
		return
	}
	d.pending = false
	for _, k := range d.gone {
		r := &g.keys.records[k]
		if r.flags&keyGone == 0 {
			continue // it was forgotten, and its record used again or not
		}
		r.flags &^= keyGone
		if r.windows.n == 0 {
			g.forgetKey(k)
		}
	}
	d.gone = d.gone[:0]
	if d.short {
		g.leave()
	}
	if d.emptied {
		g.writeAnew()
	}
	for _, t := range d.drops {
		w.DropTime(t)
	}
	d.drops = d.drops[:0]
	if d.restamp && len(d.changes) > 0 {
		first, _ := d.store.Hashes()
		w.Set(stampTime, first, []byte{stampMark}, d.stamp)
		d.restamp = false
	}
	for _, k := range d.changes {
		if r := &g.keys.records[k]; r.flags&keyDirty != 0 {
			r.flags &^= keyDirty
			g.writeKey(w, k)
		}
	}
	d.changes = d.changes[:0]
	if d.short {
		d.pending = g.leave() > 0
		d.short = false
	}
}

// writeKey hands over a key that has changed.
func (g *general) writeKey(w StateWriter, k uint32) {
	d := g.disk
	r := &g.keys.records[k]
	at := d.places[k].at
	key := append(append(g.snapshot[:0], indexMark, r.tag), g.keys.key(k)...)
	n := len(key)
	if r.windows.n == 0 {
		if at != noIndex {
			w.Delete(at, r.hash, key)
			d.unlist(k)
		}
		w.Delete(keyTime, r.hash, key[1:])
		r.flags = r.flags&^keyStored | keyGone
		d.gone = append(d.gone, k)
		g.snapshot = key
		return
	}
	if to := g.indexTime(k); to != noIndex && (at == noIndex || to < at) {
		if at != noIndex {
			w.Delete(at, r.hash, key)
			d.unlist(k)
		}
		w.Set(to, r.hash, key, nil)
		d.list(k, to)
	}
	for _, i := range g.lists.all(&r.windows) {
		g.entries.all[i].flags &^= dirty
	}
	key = g.encodeKey(key, k)
	w.Set(keyTime, r.hash, key[1:n:n], key[n:])
	r.flags |= keyStored
	g.snapshot = key
}

// writeAnew replaces all that the store has by what is in memory: that is all there is, since at the end of input every key was there.
func (g *general) writeAnew() {
	d := g.disk
	d.emptied, d.away = false, false
	d.drops = append(d.drops, keyTime)
	for k := range g.keys.records {
		switch r := &g.keys.records[k]; {
		case r.flags&keyUsed == 0:
		case r.windows.n == 0:
			g.forgetKey(uint32(k))
		default:
			g.touchKey(uint32(k))
		}
	}
}

// leave leaves keys to the store that have not changed since a snapshot, until the rest is within the share, and returns how many. Those that were used
// since the last time stay longer, and those that are due soon.
func (g *general) leave() (n int) {
	d := g.disk
	most := d.share - d.share/4 - g.heldTimers()
	for left := 2 * len(g.keys.records); left > 0 && g.heldKeys() > most; left-- {
		if d.hand++; d.hand >= len(g.keys.records) {
			d.hand = 0
		}
		k := uint32(d.hand)
		r := &g.keys.records[k]
		if r.flags&(keyUsed|keyStored|keyDirty|keyGone) != keyUsed|keyStored {
			continue
		}
		if at := d.places[k].at; at != noIndex && at <= g.watermark {
			continue
		}
		if r.flags&keyHot != 0 {
			r.flags &^= keyHot
			continue
		}
		g.leaveKey(k)
		n++
	}
	if g.events.size() > 2*g.entries.live+64 {
		g.events.prune(func(t timer) bool { return g.entries.all[t.entry].gen == t.gen && g.entries.all[t.entry].is(inUse) })
	}
	return n
}

func (g *general) leaveKey(k uint32) {
	d := g.disk
	l := &g.keys.records[k].windows
	for _, i := range g.lists.all(l) {
		g.release(i)
	}
	g.lists.clear(l)
	if at := d.places[k].at; at != noIndex {
		d.next = min(d.next, at)
	}
	d.away = true
	g.forgetKey(k)
}
