package window

// keyed is the general engine for windows that are each key's own: sessions, and global windows. What it holds is kept by key in the store,
// see keydisk.go.
type keyed struct{ *general }

var (
	_ Spiller = keyed{}
	_ Peeker  = keyed{}
	_ Skipper = keyed{}
)

// isKeyed says that the general engine keeps the windows of a Spec by key. Where the clock has a say they stay in memory: what it is going to do
// next would have to be known of every key.
func isKeyed(s *Spec) bool {
	r := newRules(s)
	return (s.Type == Session || s.Type == Global) && !s.ProcessingTime && r.end != endByClock && r.processingEvery == 0
}

// ByKey says that windows of a Spec are kept by key, and that keys are looked up in the store.
func ByKey(spec Spec, env Env) bool { return !panesCanDo(spec.Settled(), env) && isKeyed(&spec) }

// StaysInMemory says that windows of a Spec are in memory however much there is of them: no [Spiller] is made for it.
func StaysInMemory(spec Spec, env Env) bool {
	return !panesCanDo(spec.Settled(), env) && !isKeyed(&spec)
}

func (k keyed) Attach(s Store, share int64) error { return k.attach(s, share) }
func (k keyed) Shrink()                           { k.disk.short = true }

func (k keyed) Err() error {
	if k.disk == nil {
		return nil
	}
	return k.disk.err
}

// Held is what is in use. Memory that keys have left is used again, and not given back.
func (k keyed) Held() int64 {
	if k.disk == nil {
		return 0
	}
	return k.heldKeys() + k.heldTimers()
}

func (g *general) heldKeys() int64 {
	const (
		perKey   = 64 + 16 + 11 + 4 // the record, its place in the index, its slot in the hash table, and once in a list
		perEntry = 64 + 4
		perExtra = 32
		perShown = 64
	)
	words := int64(8 * g.entries.words)
	n := int64(g.keys.n)*perKey + int64(g.keys.longSize) + int64(g.entries.live)*(perEntry+words) + int64(g.heap.Live())
	n += int64(len(g.shown.all)-len(g.shown.free)) * (perShown + words)
	if g.entries.hasMore {
		n += int64(g.entries.live) * perExtra
	}
	return n
}

func (g *general) heldTimers() int64 { return 16 * int64(g.events.size()) }

// IsIndex says that an entry of the store, which has this key, is no window but helps to find windows. That of a dedup step is known here, too.
func IsIndex(key []byte) bool { return len(key) > 0 && (key[0] == indexMark || key[0] == stampMark) }
