package window

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
)

// What the general engine stores. One entry for each key and window:
//
//	time   the window's start; its end for cumulative windows, which share their starts
//	hash   of the key
//	key    one byte tag, the key's payload; for a start at the beginning of time, which several windows may have, also the end (8 bytes)
//	value  version, flags, the other bound, counters, schedules, results that can be taken back, accumulators (see encode)
//
// Under the start a session stays at its place while it grows, so a checkpoint overwrites it and deletes nothing.

const stateVersion = 1

// removals is what has gone since the last snapshot.
type removals struct {
	times []int64 // all entries of these times are gone
	one   []removal
	keys  []byte
}

type removal struct {
	time int64
	hash uint64
	end  int // of the key in keys, which begins where the one before ends
}

// storeTime is the time that a window's entry is stored under.
func (g *general) storeTime(span Span) int64 {
	if g.spec.Type == Cumulative {
		return span.End
	}
	return span.Start
}

// storeKey appends the key that an entry is stored under.
func (g *general) storeKey(dst []byte, key uint32, span Span) []byte {
	dst = append(dst, g.keys.records[key].tag)
	dst = append(dst, g.keys.key(key)...)
	if g.sharesTime(g.storeTime(span)) {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(span.End))
	}
	return dst
}

// sharesTime says that several windows of one key may be stored under a time: those that the beginning of time has cut.
func (g *general) sharesTime(time int64) bool { return time == math.MinInt64 && g.spec.Type == Sliding }

// unstore notes that the entry's place in the store has to be emptied.
func (g *general) unstore(e *entry) {
	e.flags &^= isStored
	r := &g.removed
	time := e.storedAt
	if g.spec.Type != Session && g.spec.Type != Global && !g.sharesTime(time) {
		// All keys have the same windows, and lose them at the same watermark.
		if n := len(r.times); n == 0 || r.times[n-1] != time {
			r.times = append(r.times, time)
		}
		return
	}
	r.keys = g.storeKey(r.keys, e.key, Span{time, e.span.End})
	r.one = append(r.one, removal{time, g.keys.records[e.key].hash, len(r.keys)})
}

func (g *general) Snapshot(w StateWriter) {
	if g.disk != nil {
		g.snapshotKeys(w)
		return
	}
	r := &g.removed
	for _, t := range r.times {
		w.DropTime(t)
	}
	from := 0
	for _, one := range r.one {
		w.Delete(one.time, one.hash, r.keys[from:one.end])
		from = one.end
	}
	r.times, r.one, r.keys = r.times[:0], r.one[:0], r.keys[:0]
	// A place may be emptied and taken again within one snapshot, so what is there comes after what is gone.
	for _, i := range g.changes {
		e := &g.entries.all[i]
		if !e.is(dirty) {
			continue // the entry went, and its memory was used again or not
		}
		e.flags &^= dirty
		e.flags |= isStored
		e.storedAt = g.storeTime(e.span)
		g.snapshot = g.storeKey(g.snapshot[:0], e.key, e.span)
		n := len(g.snapshot)
		g.snapshot = g.encode(g.snapshot, i)
		w.Set(e.storedAt, g.keys.records[e.key].hash, g.snapshot[:n:n], g.snapshot[n:])
	}
	g.changes = g.changes[:0]
}

// storedFlags are the flags whose meaning outlives the process. They are stored: their bits never change.
const storedFlags = filled | changed | ended

func (g *general) encode(p []byte, i uint32) []byte {
	return g.encodeEntry(append(p, stateVersion), i)
}

func (g *general) encodeEntry(p []byte, i uint32) []byte {
	e := &g.entries.all[i]
	p = append(p, byte(e.flags&storedFlags))
	p = binary.AppendVarint(p, e.span.Start)
	p = binary.AppendVarint(p, e.span.End)
	p = binary.AppendUvarint(p, uint64(e.firings))
	p = binary.AppendUvarint(p, uint64(e.count))
	p = binary.AppendVarint(p, e.next)
	x := g.entries.extra(i)
	p = binary.AppendVarint(p, x.lateDue)
	p = binary.AppendVarint(p, x.clock)
	if g.rules.retract {
		n := uint64(0)
		for r := x.retractions; r != noResult; r = g.shown.all[r].next {
			n++
		}
		p = binary.AppendUvarint(p, n)
		for r := x.retractions; r != noResult; r = g.shown.all[r].next {
			s := &g.shown.all[r]
			p = binary.AppendVarint(p, s.span.Start)
			p = binary.AppendVarint(p, s.span.End)
			p = binary.AppendVarint(p, s.watermark)
			p = binary.AppendUvarint(p, uint64(s.firing))
			p = append(p, byte(s.timing))
			p = g.layout.Encode(p, g.shown.mem, g.shown.at(r), &g.heap)
		}
	}
	return g.layout.Encode(p, g.entries.mem, g.entries.at(i), &g.heap)
}

func (g *general) RestoreWatermark(watermark int64) { g.watermark = watermark }

func (g *general) Restore(time int64, hash uint64, key, value []byte) error {
	d := stateReader{p: value}
	if v := d.byte(); v != stateVersion {
		return fmt.Errorf("window: stored state has version %d, this program knows %d", v, stateVersion)
	}
	e := d.entry()
	if d.bad || len(key) == 0 || g.storeTime(e.span) != time {
		return fmt.Errorf("window: damaged state of the window [%d, %d)", e.span.Start, e.span.End)
	}
	if g.sharesTime(time) {
		key = key[:max(1, len(key)-8)]
	}
	tag, payload := key[0], key[1:]
	if rowkey.Hash(tag, payload) != hash {
		return fmt.Errorf("window: damaged state of the window [%d, %d): the hash does not fit the key", e.span.Start, e.span.End)
	}
	k := g.keys.find(hash, tag, payload)
	if k == noKey {
		k = g.addKey(hash, tag, payload)
	}
	live := g.entries.live
	i := g.entryOf(k, e.span)
	if g.entries.live == live {
		return fmt.Errorf("window: the window [%d, %d) is stored twice for one key", e.span.Start, e.span.End)
	}
	to := &g.entries.all[i]
	to.flags |= isStored
	to.storedAt = time
	err := g.fillEntry(&d, i, &e)
	if err == nil && len(d.p) > 0 {
		err = fmt.Errorf("%d bytes too many", len(d.p))
	}
	if err != nil {
		return fmt.Errorf("window: the window [%d, %d): %w", e.span.Start, e.span.End, err)
	}
	g.schedule(i)
	return nil
}

// storedWindow is an entry without its accumulators, as it was stored.
type storedWindow struct {
	entry
	lateDue, clock int64
}

// entry reads what encodeEntry wrote, up to the results and accumulators.
func (d *stateReader) entry() (e storedWindow) {
	e.flags = uint32(d.byte())
	e.span = Span{d.varint(), d.varint()}
	e.firings, e.count = uint32(d.uvarint()), int64(d.uvarint())
	e.next = d.varint()
	e.lateDue, e.clock = d.varint(), d.varint()
	d.bad = d.bad || e.flags&^storedFlags != 0 || e.span.End < e.span.Start
	return e
}

// fillEntry makes a fresh entry what was stored, and reads the rest of it.
func (g *general) fillEntry(d *stateReader, i uint32, e *storedWindow) error {
	to := &g.entries.all[i]
	to.flags |= e.flags
	to.firings, to.count, to.next = e.firings, e.count, e.next
	if e.lateDue != notDue || e.clock != notDue {
		// Late rows may have been collected before the setting that asks for it was taken away: they fire all the same.
		g.entries.needExtras()
		g.entries.extras[i].lateDue, g.entries.extras[i].clock = e.lateDue, e.clock
	}
	return g.restoreAccumulators(d, i)
}

func (g *general) restoreAccumulators(d *stateReader, i uint32) error {
	var err error
	if g.rules.retract {
		last := noResult
		for n := d.uvarint(); n > 0 && !d.bad; n-- {
			res := result{span: Span{d.varint(), d.varint()}, watermark: d.varint(), firing: uint32(d.uvarint()), timing: Timing(d.byte())}
			if d.bad || res.timing > Late {
				break
			}
			r := g.shown.add(res)
			if d.p, err = g.layout.Decode(d.p, g.shown.mem, g.shown.at(r), &g.heap); err != nil {
				return err
			}
			if last == noResult {
				g.entries.extras[i].retractions = r
			} else {
				g.shown.all[last].next = r
			}
			last = r
		}
	}
	if d.bad {
		return fmt.Errorf("damaged state")
	}
	d.p, err = g.layout.Decode(d.p, g.entries.mem, g.entries.at(i), &g.heap)
	return err
}

// stateReader reads what encode wrote. After an error everything reads as zero.
type stateReader struct {
	p   []byte
	bad bool
}

func (d *stateReader) byte() byte {
	if len(d.p) == 0 {
		d.bad = true
		return 0
	}
	b := d.p[0]
	d.p = d.p[1:]
	return b
}

func (d *stateReader) varint() int64 {
	v, n := binary.Varint(d.p)
	if n <= 0 {
		d.p, d.bad = nil, true
		return 0
	}
	d.p = d.p[n:]
	return v
}

func (d *stateReader) uvarint() uint64 {
	v, n := binary.Uvarint(d.p)
	if n <= 0 {
		d.p, d.bad = nil, true
		return 0
	}
	d.p = d.p[n:]
	return v
}
