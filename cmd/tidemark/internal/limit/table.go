package limit

// maxKey is the longest key that fits an entry.
const maxKey = 27

// entry is one key of one window: a cache line.
type entry struct {
	tag      uint32 // upper half of the hash, never 0 in use
	length   uint8
	key      [maxKey]byte
	n        int64
	sum      float64
	min, max float64
}

// table is an open hash table of one window without any pointer in it.
type table struct {
	entries []entry
	used    int
}

func newTable(size int) *table { return &table{entries: make([]entry, size)} }

func tag(hash uint64) uint32 { return uint32(hash>>32) | 1 }

// add adds an event.
func (t *table) add(hash uint64, key []byte, value float64) {
	mask := uint64(len(t.entries) - 1)
	want := tag(hash)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := &t.entries[i]
		if e.tag == want && string(e.key[:e.length]) == string(key) {
			e.n++
			e.sum += value
			e.min = min(e.min, value)
			e.max = max(e.max, value)
			return
		}
		if e.tag == 0 {
			e.tag, e.length = want, uint8(len(key))
			copy(e.key[:], key)
			e.n, e.sum, e.min, e.max = 1, value, value, value
			if t.used++; t.used*4 > len(t.entries)*3 {
				t.grow()
			}
			return
		}
	}
}

// grow doubles the table.
func (t *table) grow() {
	old := t.entries
	t.entries = make([]entry, 2*len(old))
	mask := uint64(len(t.entries) - 1)
	for k := range old {
		if old[k].tag == 0 {
			continue
		}
		i := hashKey(old[k].key[:old[k].length]) & mask
		for t.entries[i].tag != 0 {
			i = (i + 1) & mask
		}
		t.entries[i] = old[k]
	}
}

// clear makes the table ready for another window.
func (t *table) clear() {
	clear(t.entries)
	t.used = 0
}
