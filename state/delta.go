package state

import (
	"github.com/tidemark-stream/tidemark/state/keys"
)

// operation says what an entry of a Delta does to its key.
type operation uint8

const (
	opSet operation = iota
	opMerge
	opDelete
)

// change is one entry of a Delta. The arena holds the store key and behind it the stored value. It has no pointers, and 40 bytes.
type change struct {
	time          uint64 // flipped, so that it sorts unsigned
	hash          uint64
	chunk, offset uint32
	keyLen        uint32
	valueLen      uint32
	operator      uint32
	op            operation
}

func (d *Delta) key(c *change) []byte { return d.arena.at(c.chunk, c.offset, c.keyLen) }
func (d *Delta) value(c *change) []byte {
	return d.arena.at(c.chunk, c.offset+c.keyLen, c.valueLen)
}

// metaChange is one change of a meta key: its value, its removal, or (end set) the removal of a run.
type metaChange struct {
	key, end []byte // store keys
	value    []byte
	remove   bool
}

// drop removes a pane within a range of hashes.
type drop struct {
	operator uint32
	time     uint64 // flipped
	hashes   keys.Hashes
	before   int // changes[:before] of this Delta fall under it
}

// reset removes an operator.
type reset struct {
	operator uint32
	before   int // changes[:before] of this Delta fall under it
}

// Delta collects changes for one commit, in memory. The order of calls matters where they touch the same key: the last one stands, and a
// Merge folds into what was there before it.
//
// A Delta belongs to one goroutine until it is given to [Store.Commit], and again from [Delta.Reset] on. All arguments are copied. The
// zero value is ready to use and covers all hashes.
type Delta struct {
	hashes  keys.Hashes
	limited bool

	changes []change
	drops   []drop
	resets  []reset
	meta    []metaChange
	arena   arena
}

// NewDelta returns an empty Delta of a shard that owns a range of hashes. The range limits what [Delta.DropTime] removes: a shard
// never speaks for another one. Entries outside the range are a mistake of the caller and panic.
func NewDelta(hashes keys.Hashes) *Delta { return &Delta{hashes: hashes, limited: true} }

// Set gives an entry a value.
func (d *Delta) Set(operator uint32, time int64, hash uint64, key, value []byte) {
	d.add(opSet, operator, time, hash, key, value)
}

// Merge folds a value into an entry, which need not exist. See [Fold].
func (d *Delta) Merge(operator uint32, time int64, hash uint64, key, value []byte) {
	d.add(opMerge, operator, time, hash, key, value)
}

// Delete removes an entry, which need not exist.
func (d *Delta) Delete(operator uint32, time int64, hash uint64, key []byte) {
	d.add(opDelete, operator, time, hash, key, nil)
}

func (d *Delta) add(op operation, operator uint32, time int64, hash uint64, key, value []byte) {
	if d.limited && !d.hashes.Contains(hash) {
		panic("state: hash outside the delta's range")
	}
	keyLen, valueLen := keys.StateHeader+len(key), 0
	if op != opDelete {
		valueLen = 1 + len(value)
	}
	room, chunk, offset := d.arena.place(keyLen + valueLen)
	room = keys.AppendState(room, operator, time, hash, key)
	if op != opDelete {
		room = append(append(room, plainValue), value...)
	}
	d.changes = append(d.changes, change{
		time: keys.FlipTime(time), hash: hash, operator: operator, op: op,
		chunk: chunk, offset: offset, keyLen: uint32(keyLen), valueLen: uint32(len(room) - keyLen),
	})
}

// DropTime removes all entries of an operator with that time, within the Delta's hashes: those committed before and those added to
// this Delta so far. What is added later stands.
func (d *Delta) DropTime(operator uint32, time int64) {
	hashes := keys.AllHashes()
	if d.limited {
		hashes = d.hashes
	}
	d.drops = append(d.drops, drop{operator, keys.FlipTime(time), hashes, len(d.changes)})
}

// DropOperator removes all entries of an operator whatever their hashes: those committed before and those added to this Delta so far. What
// is added later stands.
func (d *Delta) DropOperator(operator uint32) {
	d.resets = append(d.resets, reset{operator, len(d.changes)})
}

// Put gives a meta name (see [keys.Name]) a value.
func (d *Delta) Put(name, value []byte) {
	d.meta = append(d.meta, metaChange{key: d.metaKey(name), value: d.copy(value)})
}

// Fill is Put for a value that is encoded where it will lie: fill appends it, at most room bytes, to the slice it is given, and returns that.
func (d *Delta) Fill(name []byte, room int, fill func(dst []byte) []byte) {
	dst, _, _ := d.arena.place(room)
	value := fill(dst)
	if len(value) > room {
		panic("state: a value is longer than the room that was asked for")
	}
	d.meta = append(d.meta, metaChange{key: d.metaKey(name), value: value})
}

// Remove removes a meta name, which need not exist.
func (d *Delta) Remove(name []byte) {
	d.meta = append(d.meta, metaChange{key: d.metaKey(name), remove: true})
}

// RemoveRange removes the meta names from (included) to (not included), those added to this Delta so far too.
func (d *Delta) RemoveRange(from, to []byte) {
	d.meta = append(d.meta, metaChange{key: d.metaKey(from), end: d.metaKey(to), remove: true})
}

func (d *Delta) metaKey(name []byte) []byte {
	room, _, _ := d.arena.place(1 + len(name))
	return keys.AppendMeta(room, name)
}

func (d *Delta) copy(b []byte) []byte {
	room, _, _ := d.arena.place(len(b))
	return append(room, b...)
}

// Len is the number of changes so far.
func (d *Delta) Len() int { return len(d.changes) + len(d.drops) + len(d.resets) + len(d.meta) }

// Size is the number of bytes of keys and values so far.
func (d *Delta) Size() int { return d.arena.size }

// Reset empties d for the next checkpoint and keeps most of its memory. It must not be called while a commit of d is under way.
func (d *Delta) Reset() {
	d.arena.reset()
	clear(d.meta) // its slices would keep chunks alive
	d.changes, d.drops, d.resets, d.meta = d.changes[:0], d.drops[:0], d.resets[:0], d.meta[:0]
}

// Bind returns a writer for one operator: the store that a window operator asks for.
func (d *Delta) Bind(operator uint32) Writer { return Writer{d, operator} }

// Writer is a Delta seen by one operator. It satisfies daemon/window's StateWriter.
type Writer struct {
	delta    *Delta
	operator uint32
}

func (w Writer) Set(time int64, hash uint64, key, value []byte) {
	w.delta.add(opSet, w.operator, time, hash, key, value)
}

func (w Writer) Merge(time int64, hash uint64, key, value []byte) {
	w.delta.add(opMerge, w.operator, time, hash, key, value)
}

func (w Writer) Delete(time int64, hash uint64, key []byte) {
	w.delta.add(opDelete, w.operator, time, hash, key, nil)
}

func (w Writer) DropTime(time int64) { w.delta.DropTime(w.operator, time) }
