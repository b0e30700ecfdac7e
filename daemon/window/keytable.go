package window

import "bytes"

// inlineKey is how many bytes of a key stand in its record. It makes a record 64 bytes, one cache line.
const inlineKey = 30

// keyRecord is a key that has windows.
type keyRecord struct {
	hash    uint64
	windows windowList
	size    uint32 // of the key, in bytes
	spill   uint32 // block of keyTable.long, for keys that do not fit in line
	tag     uint8
	flags   uint8 // see keydisk.go; 0 where the record is not in use, or nobody keeps keys in the store
	inline  [inlineKey]byte
}

// keyTable finds a key's record by hash and bytes: open addressing with linear probing over words that hold the high half of the
// hash and the record's number + 1. It contains no pointers but its few slices.
type keyTable struct {
	slots   []uint64
	records []keyRecord
	free    []uint32
	n       int

	long     [][]byte // keys longer than inlineKey
	longFree []uint32
	longSize int // bytes of them
}

const noKey = ^uint32(0)

func (t *keyTable) home(hash uint64) uint64 {
	// The top bits choose the shard, so they are alike within one; the slot takes lower ones.
	return hash & uint64(len(t.slots)-1)
}

// find returns the key's record number, or noKey.
func (t *keyTable) find(hash uint64, tag uint8, key []byte) uint32 {
	if t.n == 0 {
		return noKey
	}
	mask := uint64(len(t.slots) - 1)
	for i := t.home(hash); ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			return noKey
		}
		if s>>32 == hash>>32 {
			if k := uint32(s) - 1; t.is(k, hash, tag, key) {
				return k
			}
		}
	}
}

func (t *keyTable) is(k uint32, hash uint64, tag uint8, key []byte) bool {
	r := &t.records[k]
	return r.hash == hash && r.tag == tag && int(r.size) == len(key) && bytes.Equal(t.key(k), key)
}

// key is the bytes of record k; they stay where they are until the key is removed or another is added.
func (t *keyTable) key(k uint32) []byte {
	r := &t.records[k]
	if r.size > inlineKey {
		return t.long[r.spill]
	}
	return r.inline[:r.size:r.size]
}

// add makes a record for a key that is not there.
func (t *keyTable) add(hash uint64, tag uint8, key []byte) uint32 {
	if (t.n+1)*4 > len(t.slots)*3 {
		t.grow()
	}
	var k uint32
	if n := len(t.free); n > 0 {
		k, t.free = t.free[n-1], t.free[:n-1]
	} else {
		k = uint32(len(t.records))
		t.records = append(t.records, keyRecord{})
	}
	r := &t.records[k]
	*r = keyRecord{hash: hash, tag: tag, size: uint32(len(key))}
	if len(key) <= inlineKey {
		copy(r.inline[:], key)
	} else {
		r.spill = t.store(key)
	}
	t.place(hash, k)
	t.n++
	return k
}

func (t *keyTable) store(key []byte) uint32 {
	t.longSize += len(key)
	if n := len(t.longFree); n > 0 {
		b := t.longFree[n-1]
		t.longFree = t.longFree[:n-1]
		t.long[b] = append(t.long[b][:0], key...)
		return b
	}
	t.long = append(t.long, bytes.Clone(key))
	return uint32(len(t.long) - 1)
}

func (t *keyTable) place(hash uint64, k uint32) {
	mask := uint64(len(t.slots) - 1)
	i := t.home(hash)
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = hash>>32<<32 | uint64(k+1)
}

func (t *keyTable) grow() {
	old := t.slots
	t.slots = make([]uint64, max(64, 2*len(old)))
	for _, s := range old {
		if s != 0 {
			k := uint32(s) - 1
			t.place(t.records[k].hash, k)
		}
	}
}

// remove forgets a key without windows. The keys after it move up, so that no marker of the deleted one is left behind.
func (t *keyTable) remove(k uint32) {
	r := &t.records[k]
	mask := uint64(len(t.slots) - 1)
	i := t.home(r.hash)
	for uint32(t.slots[i]) != k+1 {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; t.slots[j] != 0; j = (j + 1) & mask {
		home := t.home(t.records[uint32(t.slots[j])-1].hash)
		if (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = 0
	if r.size > inlineKey {
		t.longFree = append(t.longFree, r.spill)
		t.longSize -= int(r.size)
	}
	r.size, r.flags = 0, 0
	t.free = append(t.free, k)
	t.n--
}
