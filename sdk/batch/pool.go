package batch

import (
	"sync"
	"sync/atomic"
)

var pool = sync.Pool{New: func() any { return new(Batch) }}

// Get returns an empty batch with one owner, reusing the memory of a released one.
func Get() *Batch {
	b := pool.Get().(*Batch)
	b.Reset()
	b.refs = 1
	return b
}

// Reset empties b and keeps its memory. The number of owners does not change.
func (b *Batch) Reset() {
	b.Before = NoWatermark
	b.N, b.Source, b.Partition, b.Trailer, b.Base, b.Unit = 0, 0, 0, 0, 0, RecordNumber
	b.Data, b.Offsets, b.Places, b.Position = b.Data[:0], b.Offsets[:0], b.Places[:0], b.Position[:0]
	b.Header = nil
	b.Rejects, b.Bad, b.Times, b.Marks = b.Rejects[:0], b.Bad[:0], b.Times[:0], b.Marks[:0]
	if b.Sel != nil {
		b.sel = b.Sel[:0]
		b.Sel = nil
	}
	b.Columns, b.Extra = b.Columns[:0], b.Extra[:0]
}

// Retain adds n owners: each of them calls Release once.
func (b *Batch) Retain(n int) { atomic.AddInt32(&b.refs, int32(n)) }

// Release gives up one owner's share. The last one returns the memory to the pool; nobody may touch b afterwards.
func (b *Batch) Release() {
	switch left := atomic.AddInt32(&b.refs, -1); {
	case left == 0 && b.parent != nil:
		b.parent.Release()
	case left == 0:
		if cap(b.Data) <= maxPooled && cap(b.Extra) <= maxPooled {
			pool.Put(b)
		}
	case left < 0:
		panic("batch: released more often than retained")
	}
}

// maxPooled keeps one huge record from pinning memory for ever.
const maxPooled = 4 << 20
