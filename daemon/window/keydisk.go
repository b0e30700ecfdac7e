package window

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
)

// What the general engine stores of windows that are each key's own. A key is in memory as a whole or not at all, and in the store as a whole
// once a snapshot has seen it:
//
//	time   keyTime               when the key has something to do, see indexTime     stampTime
//	key    tag, payload          indexMark, tag, payload                             stampMark
//	value  version, index time,  nothing                                             what the index depends on
//	       number of windows,
//	       windows (see encodeEntry)
//
// The index is what makes it possible to leave keys to the store: when time passes, it says which of them are due. Its times are coarse, and may
// be earlier than needed, as those of timers may: a key that is found not to be due is put in again.
const (
	keyTime   = math.MinInt64
	stampTime = math.MinInt64 + 1
	firstTime = math.MinInt64 + 2 // of the index
	lastTime  = math.MaxInt64     // of the index: keys that only the end of input makes fire
	noIndex   = math.MinInt64

	indexMark = 0xFE // no tag of a key
	stampMark = 0xFD

	keyVersion   = 2
	stampVersion = 1
)

// Flags of a key's record.
const (
	keyUsed   = 1 << iota // the record is a key's
	keyDirty              // stands in the list of changes since the last snapshot
	keyStored             // the store has it, or will when the last snapshot is committed
	keyGone               // the last snapshot has removed it: the store may show it until that is committed, so nobody must ask
	keyHot                // was used since it was last looked at for leaving memory
)

// keyDisk is what the general engine has to know of its store.
type keyDisk struct {
	store Store
	err   error
	share int64
	short bool // Shrink was called
	// away: the store may have keys that memory has not.
	away bool
	// pending: keys have left memory that the store shows only when the last snapshot is committed.
	pending bool
	// next: keys that are in the store only are in the index at next or later.
	next int64

	width   int64 // of the index's times
	stamp   []byte
	restamp bool // the stamp is to be written, with the next keys

	changes []uint32 // keys with the flag dirty, and reused records of such
	gone    []uint32
	drops   []int64 // times to be removed by the next snapshot
	emptied bool    // input has ended, and keys were forgotten that the store has

	places  []keyPlace         // by record
	buckets map[int64][]uint32 // the keys in memory by the time at which the index has them
	closes  int64              // the first instant at which a time of the index is over; math.MaxInt64 = none

	hand int // where the search for keys that may leave memory goes on
	key  []byte
}

// keyPlace says where the index has a key in memory.
type keyPlace struct {
	at int64 // noIndex: nowhere
	i  int   // in buckets[at]
}

// keysAtStart is how many keys are read when the operator starts, if there are no more of them.
const keysAtStart = 1 << 14

func (g *general) attach(s Store, share int64) error {
	d := &keyDisk{store: s, share: share, next: math.MaxInt64, closes: math.MaxInt64, buckets: map[int64][]uint32{}, width: indexWidth(&g.spec)}
	d.stamp = binary.AppendVarint([]byte{stampVersion}, d.width)
	d.stamp = binary.AppendVarint(d.stamp, g.spec.Lateness)
	d.stamp = binary.AppendVarint(d.stamp, g.spec.LateEvery)
	g.disk = d
	_, some, err := s.Next(keyTime)
	if err != nil {
		return err
	}
	same, err := d.readStamps()
	switch {
	case err != nil:
		return err
	case !some:
		d.restamp = !same
		return nil
	case same:
		return g.readKeys(keysAtStart)
	}
	return g.readAnew()
}

// indexWidth is how coarse the times of the index are: so much is read ahead of time.
func indexWidth(s *Spec) int64 {
	r := newRules(s)
	return max(1, s.Gap/32, s.Lateness/256, s.LateEvery/32, r.eventEvery/32)
}

// readStamps says whether all that the shards have written was written with these settings.
func (d *keyDisk) readStamps() (same bool, err error) {
	n, others := 0, 0
	err = d.store.Scan(stampTime, 0, math.MaxUint64, func(_ uint64, _, value []byte) bool {
		n++
		if string(value) != string(d.stamp) {
			others++
		}
		return true
	})
	return n > 0 && others == 0, err
}

// readKeys brings keys into memory, up to a number.
func (g *general) readKeys(most int) error {
	d := g.disk
	first, last := d.store.Hashes()
	var bad error
	err := d.store.Scan(keyTime, first, last, func(hash uint64, key, value []byte) bool {
		if d.away = g.keys.n >= most || g.overShare(); d.away {
			return false
		}
		_, bad = g.decodeKey(hash, key, value)
		return bad == nil
	})
	if d.away {
		d.next = firstTime
	}
	return cmp.Or(err, bad)
}

func (g *general) overShare() bool { return keyed{g}.Held() >= g.disk.share/4 }

// readAnew reads everything: what an older program has written, entry by entry, or keys whose index was made with other settings. The next
// snapshot writes all of it as it is kept now.
func (g *general) readAnew() error {
	d := g.disk
	first, last := d.store.Hashes()
	var times []int64
	if err := d.store.Times(func(t int64) { times = append(times, t) }); err != nil {
		return err
	}
	for _, t := range times {
		var bad error
		err := d.store.Scan(t, first, last, func(hash uint64, key, value []byte) bool {
			switch {
			case len(key) > 0 && (key[0] == indexMark || key[0] == stampMark):
			case t == keyTime && len(value) > 0 && value[0] == keyVersion:
				_, bad = g.decodeKey(hash, key, value)
			default:
				bad = g.Restore(t, hash, key, value)
			}
			return bad == nil
		})
		if err = cmp.Or(err, bad); err != nil {
			return err
		}
	}
	d.drops = append(d.drops, times...)
	d.restamp = true // the old one goes with its time
	for k := range g.keys.records {
		k := uint32(k)
		d.unlist(k)
		for _, i := range g.lists.all(&g.keys.records[k].windows) {
			g.entries.all[i].flags &^= isStored
		}
		g.keys.records[k].flags &^= keyStored
		g.touchKey(k)
	}
	return nil
}

// born gives a new record its flags and its place.
func (d *keyDisk) born(t *keyTable, k uint32) {
	for len(d.places) < len(t.records) {
		d.places = append(d.places, keyPlace{at: noIndex})
	}
	d.places[k] = keyPlace{at: noIndex}
	t.records[k].flags = keyUsed | keyHot
}

// reach is the record of a row's key, which is read if it lies in the store. It may still be noKey.
func (g *general) reach(key uint32, keys *rowkey.Keys, row uint32) uint32 {
	if key != noKey {
		g.keys.records[key].flags |= keyHot
		return key
	}
	if !g.disk.away {
		return noKey
	}
	return g.load(keys.Hash[row], keys.Tag[row], keys.Bytes(int(row)))
}

// load reads a key that is not in memory; noKey = the store has not got it either.
func (g *general) load(hash uint64, tag uint8, payload []byte) uint32 {
	d := g.disk
	if !d.settle() {
		return noKey
	}
	d.key = append(append(d.key[:0], tag), payload...)
	value, found, err := d.store.Get(keyTime, hash, d.key)
	if err != nil || !found {
		d.err = cmp.Or(d.err, err)
		return noKey
	}
	k, err := g.decodeKey(hash, d.key, value)
	d.err = cmp.Or(d.err, err)
	return k
}

// settle makes sure that the store shows the keys that have left memory.
func (d *keyDisk) settle() bool {
	if d.err == nil && d.pending {
		d.err = d.store.Settle()
		d.pending = d.err != nil
	}
	return d.err == nil
}

func (g *general) encodeKey(p []byte, k uint32) []byte {
	list := g.lists.all(&g.keys.records[k].windows)
	p = append(p, keyVersion)
	p = binary.AppendVarint(p, g.disk.places[k].at)
	p = binary.AppendUvarint(p, uint64(len(list)))
	for _, i := range list {
		p = g.encodeEntry(p, i)
	}
	return p
}

// decodeKey brings a key into memory that is not there. key is its tag and payload.
func (g *general) decodeKey(hash uint64, key, value []byte) (uint32, error) {
	r := stateReader{p: value}
	if v := r.byte(); v != keyVersion {
		return noKey, fmt.Errorf("window: the stored windows of a key have version %d, this program knows %d", v, keyVersion)
	}
	at, n := r.varint(), r.uvarint()
	if r.bad || len(key) == 0 || n == 0 || n > uint64(len(value)) {
		return noKey, fmt.Errorf("window: damaged state of a key")
	}
	if rowkey.Hash(key[0], key[1:]) != hash {
		return noKey, fmt.Errorf("window: damaged state of a key: the hash does not fit it")
	}
	if g.keys.find(hash, key[0], key[1:]) != noKey {
		return noKey, fmt.Errorf("window: a key is stored twice")
	}
	k := g.addKey(hash, key[0], key[1:])
	g.keys.records[k].flags |= keyStored
	last := Span{math.MinInt64, math.MinInt64}
	for place := range int(n) {
		e := r.entry()
		if r.bad || place > 0 && !before(last, e.span) {
			return noKey, fmt.Errorf("window: damaged state of the window [%d, %d)", e.span.Start, e.span.End)
		}
		last = e.span
		i := g.entries.add(e.span, k)
		g.lists.insert(&g.keys.records[k].windows, place, i)
		if err := g.fillEntry(&r, i, &e); err != nil {
			return noKey, fmt.Errorf("window: the window [%d, %d): %w", e.span.Start, e.span.End, err)
		}
		g.schedule(i)
	}
	if len(r.p) > 0 {
		return noKey, fmt.Errorf("window: damaged state of a key: %d bytes too many", len(r.p))
	}
	g.disk.list(k, at)
	return k, nil
}

// touchKey notes that a key differs from what the last snapshot has.
func (g *general) touchKey(k uint32) {
	r := &g.keys.records[k]
	if r.flags&keyDirty == 0 {
		r.flags |= keyDirty
		g.disk.changes = append(g.disk.changes, k)
	}
}

// lessOf is called when a window of a key has been dropped. One without windows stays until the store does not show it any more.
func (g *general) lessOf(k uint32) {
	d := g.disk
	r := &g.keys.records[k]
	switch {
	case r.windows.n > 0 || r.flags&(keyStored|keyGone) != 0 && g.watermark != math.MaxInt64:
		g.touchKey(k)
	default:
		// At the end of input nobody asks for a key any more.
		d.emptied = d.emptied || r.flags&keyStored != 0
		g.forgetKey(k)
	}
}

// forgetKey takes a key without windows out of memory.
func (g *general) forgetKey(k uint32) {
	g.disk.unlist(k)
	g.keys.remove(k)
}

// sortedTimes are the times at which the index has keys in memory.
func (d *keyDisk) sortedTimes() []int64 {
	var times []int64
	for t := range d.buckets {
		times = append(times, t)
	}
	slices.Sort(times)
	return times
}
