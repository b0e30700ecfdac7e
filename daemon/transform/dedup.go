package transform

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Dedup lets the first row of each key pass and drops the others within a span of event time around it. It is one shard of a keyed
// step: it belongs to one goroutine, reads no clock and never blocks.
//
// A row is a duplicate of an earlier one (earlier in arrival) if their times are at most Within apart and the earlier one passed. A
// row further away passes and is remembered beside it. What was remembered is forgotten when the watermark says that no row within
// the span of it can come any more; so a row that is late for dedup, too, passes.
type Dedup struct {
	within    int64
	watermark int64

	index map[uint64]int32 // by hash: the newest entry with that hash
	table []dedupEntry     // entries; freed ones are chained through free
	free  int32
	live  int
	keys  []byte // key bytes of the entries: tag and payload
	waste int    // bytes in keys that no entry points to

	buckets map[int64]*dedupBucket // by the watermark at which they are forgotten
	changed []int32                // entries with the flag dirty, and reused memory of such
	dropped []int64                // buckets that have gone since the last snapshot and that the store may hold

	disk *dedupDisk // where entries may lie that are not in memory; else nil
}

type dedupEntry struct {
	hash  uint64
	time  int64
	key   int // place and length in keys
	size  int32
	older int32 // next entry with the same hash, -1: none
	flags uint8
}

// dedupBucket holds the entries that are forgotten together.
type dedupBucket struct {
	entries []int32 // and memory that was one's, and that may be used again
	live    int     // of them
	saved   bool    // the store may hold some
}

// Flags of an entry.
const (
	dedupLive   = 1 << iota
	dedupDirty  // stands in the list of changes since the last snapshot
	dedupStored // a snapshot has handed it over
	dedupHot    // has had a duplicate since it was last looked at for leaving memory
	dedupListed // while a bucket's list is tidied: it stands there already
)

// NewDedup makes an empty shard. within is in milliseconds and positive.
func NewDedup(within int64) *Dedup {
	return &Dedup{within: within, watermark: batch.NoWatermark, index: map[uint64]int32{}, free: -1, buckets: map[int64]*dedupBucket{}}
}

// Process looks at the rows of index in their order and appends those that pass to out; the others are duplicates. All lie between two
// marks. Rows without a time pass.
func (d *Dedup) Process(b *batch.Batch, index []uint32, keys *rowkey.Keys, out []uint32) []uint32 {
	for _, row := range index {
		t := b.Times[row]
		if t == batch.NoTimestamp || !d.seen(keys.Hash[row], keys.Tag[row], keys.Bytes(int(row)), t) {
			out = append(out, row)
		}
	}
	return out
}

// seen reports whether a row is a duplicate, and remembers it if not.
func (d *Dedup) seen(hash uint64, tag uint8, key []byte, t int64) bool {
	first, ok := d.index[hash]
	if !ok {
		first = -1
	}
	for i := first; i >= 0; i = d.table[i].older {
		e := &d.table[i]
		if d.near(t, e.time) && d.is(e, tag, key) {
			e.flags |= dedupHot
			return true
		}
	}
	if d.disk != nil && len(d.disk.away) > 0 && d.isAway(hash, tag, key, t) {
		return true
	}
	if !d.gone(t) {
		i := d.insert(hash, tag, key, t)
		d.table[i].flags |= dedupDirty
		d.changed = append(d.changed, i)
	}
	return false
}

// near is true when a row at t is a duplicate of one of the same key at time passed.
func (d *Dedup) near(t, passed int64) bool {
	return apart(t, passed) <= uint64(d.within) && !d.gone(passed)
}

// apart is the distance of two times, which int64 may not hold.
func apart(a, b int64) uint64 {
	if a < b {
		a, b = b, a
	}
	return uint64(a) - uint64(b)
}

// gone is true when no row that is on time can be a duplicate of one at time t.
func (d *Dedup) gone(t int64) bool { return d.watermark >= saturatingAdd(t, d.within) }

func (d *Dedup) is(e *dedupEntry, tag uint8, key []byte) bool {
	k := d.keyOf(e)
	return k[0] == tag && string(k[1:]) == string(key)
}

func (d *Dedup) keyOf(e *dedupEntry) []byte { return d.keys[e.key : e.key+int(e.size)] }

func (d *Dedup) insert(hash uint64, tag uint8, key []byte, t int64) int32 {
	older, ok := d.index[hash]
	if !ok {
		older = -1
	}
	e := dedupEntry{hash: hash, time: t, key: len(d.keys), size: int32(len(key) + 1), older: older, flags: dedupLive}
	d.keys = append(append(d.keys, tag), key...)
	i := d.free
	if i >= 0 {
		d.free = d.table[i].older
		d.table[i] = e
	} else {
		i = int32(len(d.table))
		d.table = append(d.table, e)
	}
	d.index[hash] = i
	d.live++
	at := d.bucket(t)
	b := d.bucketAt(at)
	b.live++
	if b.entries = append(b.entries, i); len(b.entries) > 2*b.live+64 {
		d.tidy(at, b)
	}
	return i
}

// bucket is the watermark at which everything in the bucket of time t can go: the end of a span of a quarter of within.
func (d *Dedup) bucket(t int64) int64 {
	width := max(d.within/4, 1)
	until := saturatingAdd(t, d.within)
	rest := until % width
	if rest < 0 {
		rest += width
	}
	if rest == 0 {
		return until
	}
	return saturatingAdd(until, width-rest)
}

// AdvanceWatermark forgets what cannot have duplicates any more. A value that does not rise is ignored.
func (d *Dedup) AdvanceWatermark(watermark int64) {
	if watermark <= d.watermark {
		return
	}
	d.watermark = watermark
	over := false
	for at, b := range d.buckets {
		if at > watermark {
			continue
		}
		for _, i := range b.entries {
			if d.belongs(i, at) {
				d.remove(i)
			}
		}
		delete(d.buckets, at)
		if b.saved {
			d.dropped = append(d.dropped, at)
		}
		over = true
	}
	if over {
		d.forgetAway()
		d.compact()
	}
}

// bucketAt is a bucket, made when it is not there yet.
func (d *Dedup) bucketAt(at int64) *dedupBucket {
	b := d.buckets[at]
	if b == nil {
		b = &dedupBucket{}
		d.buckets[at] = b
	}
	return b
}

// belongs says that memory in a bucket's list is an entry of it.
func (d *Dedup) belongs(i int32, at int64) bool {
	e := &d.table[i]
	return e.flags != 0 && d.bucket(e.time) == at
}

// tidy takes out of a bucket's list what is no entry of it, and what stands there twice.
func (d *Dedup) tidy(at int64, b *dedupBucket) {
	kept := b.entries[:0]
	for _, i := range b.entries {
		if d.belongs(i, at) && d.table[i].flags&dedupListed == 0 {
			d.table[i].flags |= dedupListed
			kept = append(kept, i)
		}
	}
	for _, i := range kept {
		d.table[i].flags &^= dedupListed
	}
	b.entries = kept
}

func (d *Dedup) remove(i int32) {
	e := &d.table[i]
	if first := d.index[e.hash]; first == i {
		if e.older < 0 {
			delete(d.index, e.hash)
		} else {
			d.index[e.hash] = e.older
		}
	} else {
		for k := first; ; k = d.table[k].older {
			if d.table[k].older == i {
				d.table[k].older = e.older
				break
			}
		}
	}
	d.waste += int(e.size)
	d.live--
	d.buckets[d.bucket(e.time)].live--
	*e = dedupEntry{older: d.free}
	d.free = i
}

// compact gives memory back when most of it is that of forgotten entries.
func (d *Dedup) compact() {
	if len(d.table) > 4096 && d.live < len(d.table)/4 {
		d.rebuild()
		return
	}
	if d.waste < 64<<10 || d.waste*2 < len(d.keys) {
		return
	}
	keys := make([]byte, 0, len(d.keys)-d.waste)
	for i := range d.table {
		if e := &d.table[i]; e.flags != 0 {
			from := len(keys)
			keys = append(keys, d.keyOf(e)...)
			e.key = from
		}
	}
	d.keys, d.waste = keys, 0
}

// rebuild puts what is there into tables of its size.
func (d *Dedup) rebuild() {
	old := *d
	d.index, d.free, d.live, d.waste = make(map[uint64]int32, old.live), -1, 0, 0
	d.table = make([]dedupEntry, 0, old.live)
	d.keys = make([]byte, 0, len(old.keys)-old.waste)
	d.changed = d.changed[:0]
	for _, b := range d.buckets {
		b.entries, b.live = nil, 0
	}
	for i := range old.table {
		e := &old.table[i]
		if e.flags == 0 {
			continue
		}
		key := old.keyOf(e)
		k := d.insert(e.hash, key[0], key[1:], e.time)
		d.table[k].flags = e.flags
		if e.flags&dedupDirty != 0 {
			d.changed = append(d.changed, k)
		}
	}
}

// Live is the number of keys and times that are remembered in memory.
func (d *Dedup) Live() int { return d.live }

// StateWriter takes the changes of a checkpoint. Slices are copied before the call returns.
type StateWriter interface {
	Set(time int64, hash uint64, key, value []byte)
	Delete(time int64, hash uint64, key []byte)
	DropTime(time int64) // removes all older entries with that time; later Sets of the same checkpoint stand
}

// Snapshot hands to w what has changed since the last Snapshot or Restore. The time of an entry is the watermark at which it goes.
func (d *Dedup) Snapshot(w StateWriter) {
	if d.disk != nil {
		d.beforeSnapshot(w)
	}
	slices.Sort(d.dropped) // map order must not show in what is stored
	for _, at := range d.dropped {
		w.DropTime(at)
	}
	var value []byte
	for _, i := range d.changed {
		e := &d.table[i]
		if e.flags&dedupDirty == 0 {
			continue // it was forgotten, and its memory used again or not
		}
		at := d.bucket(e.time)
		value = binary.AppendVarint(value[:0], e.time)
		w.Set(at, e.hash, d.keyOf(e), value)
		e.flags = e.flags&^dedupDirty | dedupStored
		d.bucketAt(at).saved = true
	}
	d.changed, d.dropped = d.changed[:0], d.dropped[:0]
	if d.disk != nil {
		d.afterSnapshot()
	}
}

// Restore takes one entry of an earlier Snapshot; all come before the first other call.
func (d *Dedup) Restore(time int64, hash uint64, key, value []byte) error {
	t, n := binary.Varint(value)
	if n != len(value) || n == 0 || len(key) == 0 {
		return errors.New("transform: damaged state of a dedup step")
	}
	d.table[d.insert(hash, key[0], key[1:], t)].flags |= dedupStored
	d.bucketAt(d.bucket(t)).saved = true
	if time != d.bucket(t) {
		d.bucketAt(time).saved = true // another span than the one it was stored with
	}
	return nil
}

// RestoreWatermark sets the watermark that the checkpoint was taken at.
func (d *Dedup) RestoreWatermark(watermark int64) { d.watermark = watermark }

// saturatingAdd is a+b, held at the ends of int64 instead of wrapping.
func saturatingAdd(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	}
	return s
}
