package transform

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Store is where the entries of a shard lie, as of its last Snapshot. It is window.Store.
type Store interface {
	// Hashes is the range of the shard's hashes, both ends included.
	Hashes() (first, last uint64)
	// Times visits the times that there are entries of, ascending.
	Times(visit func(time int64)) error
	// Scan visits the entries of a time with hashes in [first, last], in the order of hash and key, until visit returns false.
	Scan(time int64, first, last uint64, visit func(hash uint64, key, value []byte) bool) error
	// Get returns one entry. The value is valid until the next call.
	Get(time int64, hash uint64, key []byte) (value []byte, found bool, err error)
	// Settle returns when the others see what the last Snapshot has handed over.
	Settle() error
}

// dedupDisk is what a Dedup has to know of its store. Entries never change, so one that a commit has can leave memory at any time. Of which buckets
// it has left any is known; a row that finds no duplicate in memory looks into those of them that may hold one.
type dedupDisk struct {
	store Store
	err   error
	share int64
	short bool // Shrink was called
	// pending: entries have left memory that the store shows only when the last snapshot is committed.
	pending bool
	away    []int64 // ascending

	stamp   []byte // what the buckets depend on
	restamp bool   // it is to be written, with the next entries

	hand int // where the search for entries that may leave memory goes on
	key  []byte
}

const (
	dedupStampTime = math.MinInt64 // of no bucket
	dedupStampKey  = 0xFD          // no tag of a key; window.IsIndex knows it
	dedupAtStart   = 1 << 14       // entries that are read when a shard starts, if there are not many more
)

// Attach takes the place of Restore: the shard reads from s what it needs, when it needs it. share is about how many bytes it should hold.
func (d *Dedup) Attach(s Store, share int64) error {
	k := &dedupDisk{store: s, share: share, stamp: binary.AppendVarint([]byte{1}, d.within)}
	d.disk = k
	var times []int64
	if err := s.Times(func(at int64) {
		if at != dedupStampTime {
			times = append(times, at)
		}
	}); err != nil {
		return err
	}
	same, err := k.readStamps()
	if err != nil {
		return err
	}
	if !same {
		return d.readAnew(times)
	}
	slices.Reverse(times) // those that stay longest first
	for _, at := range times {
		d.bucketAt(at).saved = true
		if len(k.away) > 0 {
			k.away = append(k.away, at)
			continue
		}
		all, err := d.read(at, func() bool { return d.live < dedupAtStart && d.Held() < share/4 })
		if err != nil {
			return err
		}
		if !all {
			k.away = append(k.away, at)
		}
	}
	slices.Reverse(k.away)
	return nil
}

// readStamps says whether all that the shards have written was written with this span. Others' stamps count: they may have had this shard's keys.
func (k *dedupDisk) readStamps() (same bool, err error) {
	n, others := 0, 0
	err = k.store.Scan(dedupStampTime, 0, math.MaxUint64, func(_ uint64, _, value []byte) bool {
		n++
		if string(value) != string(k.stamp) {
			others++
		}
		return true
	})
	return n > 0 && others == 0, err
}

// read brings a bucket into memory, as long as more says so.
func (d *Dedup) read(at int64, more func() bool) (all bool, err error) {
	first, last := d.disk.store.Hashes()
	all = true
	var bad error
	err = d.disk.store.Scan(at, first, last, func(hash uint64, key, value []byte) bool {
		if all = more(); all {
			bad = d.Restore(at, hash, key, value)
		}
		return all && bad == nil
	})
	return all, cmp.Or(err, bad)
}

// readAnew reads everything, which stands in the buckets of another span, or of a program that wrote no stamp. The next snapshot writes all of it.
func (d *Dedup) readAnew(times []int64) error {
	d.disk.restamp = true
	for _, at := range times {
		if _, err := d.read(at, func() bool { return true }); err != nil {
			return err
		}
	}
	for _, b := range d.buckets {
		b.saved = false
	}
	for i := range d.table {
		d.table[i].flags = dedupLive | dedupDirty
		d.changed = append(d.changed, int32(i))
	}
	d.dropped = append(d.dropped, times...)
	if len(times) > 0 {
		d.dropped = append(d.dropped, dedupStampTime)
	}
	return nil
}

// Held is how many bytes of memory are in use. It is cheap.
func (d *Dedup) Held() int64 {
	const perEntry = 40 + 24 // and its place in the index
	return int64(d.live)*perEntry + int64(len(d.keys)-d.waste)
}

// Shrink, called before Snapshot, says that memory is short: what is over the share is left to the store.
func (d *Dedup) Shrink() { d.disk.short = true }

// Err is the first mistake of the store. After it the shard's answers are of no use.
func (d *Dedup) Err() error {
	if d.disk == nil {
		return nil
	}
	return d.disk.err
}

// isAway looks for a row's duplicate among what is in the store only, and remembers one that it finds.
func (d *Dedup) isAway(hash uint64, tag uint8, key []byte, t int64) bool {
	k := d.disk
	low, high := d.bucket(saturatingAdd(t, -d.within)), d.bucket(saturatingAdd(t, d.within))
	for n := len(k.away) - 1; n >= 0 && k.away[n] >= low; n-- {
		if k.away[n] > high {
			continue
		}
		if k.pending {
			if k.err = cmp.Or(k.err, k.store.Settle()); k.err != nil {
				return true
			}
			k.pending = false
		}
		k.key = append(append(k.key[:0], tag), key...)
		value, found, err := k.store.Get(k.away[n], hash, k.key)
		if err != nil {
			k.err = cmp.Or(k.err, err)
			return true
		}
		if !found {
			continue
		}
		passed, size := binary.Varint(value)
		if size <= 0 || size != len(value) {
			k.err = cmp.Or(k.err, d.Restore(k.away[n], hash, k.key, value))
			return true
		}
		if d.near(t, passed) {
			i := d.insert(hash, tag, key, passed)
			d.table[i].flags |= dedupStored | dedupHot
			return true
		}
	}
	return false
}

// forgetAway forgets the buckets that are over.
func (d *Dedup) forgetAway() {
	if d.disk != nil {
		d.disk.away = slices.DeleteFunc(d.disk.away, func(at int64) bool { return at <= d.watermark })
	}
}

// beforeSnapshot lets entries go that the store has: a barrier comes only after the commit of the one before.
func (d *Dedup) beforeSnapshot(w StateWriter) {
	k := d.disk
	k.pending = false
	if k.short {
		d.leave()
	}
	if !k.restamp || len(d.changed) == 0 {
		return
	}
	k.restamp = false
	if n := slices.Index(d.dropped, dedupStampTime); n >= 0 {
		w.DropTime(dedupStampTime)
		d.dropped = slices.Delete(d.dropped, n, n+1)
	}
	first, _ := k.store.Hashes()
	w.Set(dedupStampTime, first, []byte{dedupStampKey}, k.stamp)
}

// afterSnapshot lets entries go that were handed over just now, if there is still too much.
func (d *Dedup) afterSnapshot() {
	if k := d.disk; k.short {
		k.pending = d.leave() > 0
		k.short = false
	}
}

// leave leaves entries to the store until the rest is within the share, and returns how many. Those that have had duplicates stay longer.
func (d *Dedup) leave() (n int) {
	k := d.disk
	for left := 2 * len(d.table); left > 0 && d.Held() > k.share-k.share/4; left-- {
		if k.hand++; k.hand >= len(d.table) {
			k.hand = 0
		}
		e := &d.table[k.hand]
		if e.flags&(dedupLive|dedupDirty|dedupStored) != dedupLive|dedupStored {
			continue
		}
		if e.flags&dedupHot != 0 {
			e.flags &^= dedupHot
			continue
		}
		if i, found := slices.BinarySearch(k.away, d.bucket(e.time)); !found {
			k.away = slices.Insert(k.away, i, d.bucket(e.time))
		}
		d.remove(int32(k.hand))
		n++
	}
	d.compact()
	return n
}
