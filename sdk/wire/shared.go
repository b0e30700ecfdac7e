package wire

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
)

// MemoryKey names the descriptor of the memory that daemon and plugin share, see [Shared]. Absent: there is none.
const MemoryKey = "TIDEMARK_MEMORY_FD"

const (
	// slotBytes holds what a batch usually has: 256 KiB of text, its offsets and some columns. Pages that nobody writes take no memory.
	slotBytes = 512 << 10
	// sharedSlots is how many messages of one direction can be on the way.
	sharedSlots = Credits
	sharedBytes = 2 * sharedSlots * slotBytes
	// placeFrom is the size from which a message goes through shared memory: a smaller one is copied by gRPC for next to nothing.
	placeFrom = 4 << 10
)

// Shared is memory that a daemon and one plugin process have both mapped. Large messages go through it, and only where they lie is told on
// the stream: they are copied twice, in by one side and out by the other, where gRPC and the socket copy five times.
//
// Whoever reads copies every byte once and looks at the copy only ([reader] does, for messages from the stream as well), since the other side
// can write at any time. The memory can neither shrink nor grow, so that no access to it can fail.
//
// One stream of the process has it at a time; the others send everything on the stream.
type Shared struct {
	taken atomic.Bool

	mu  sync.RWMutex // held for reading while memory is touched
	mem []byte       // nil: closed
}

var errUnmapped = errors.New("the shared memory is closed")

// Close gives the memory back. It waits for a copy that is under way; a nil *Shared can be closed as well.
func (s *Shared) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mem := s.mem
	s.mem = nil
	if mem == nil {
		return nil
	}
	return unmap(mem)
}

// take gives the memory to a stream; nil if there is none, or another stream has it.
func (s *Shared) take() *exchange {
	if s == nil || !s.taken.CompareAndSwap(false, true) {
		return nil
	}
	return &exchange{memory: s,
		write: area{from: 0, slots: sharedSlots, size: slotBytes},
		read:  area{from: sharedSlots * slotBytes, slots: sharedSlots, size: slotBytes}}
}

// offer is what the other side is told of it.
func (x *exchange) offer() *pluginv1.SharedMemory {
	if x == nil {
		return nil
	}
	return &pluginv1.SharedMemory{ToPlugin: uint64(x.write.from), ToDaemon: uint64(x.read.from), Slots: uint32(x.write.slots), SlotBytes: uint32(x.write.size)}
}

// agreed is what is left of an offer when the plugin has answered.
func (x *exchange) agreed(o *pluginv1.Opened) *exchange {
	if o.GetShared() {
		return x
	}
	return nil
}

// accept is the plugin's part of what the daemon offers, or nil: it has not mapped the memory, or cannot do with these slots.
func (s *Shared) accept(o *pluginv1.SharedMemory) *exchange {
	if s == nil || o == nil || o.GetSlots() < Credits || o.GetSlots() > 1<<16 || o.GetSlotBytes() > 1<<30 || o.GetToPlugin() > 1<<40 || o.GetToDaemon() > 1<<40 {
		return nil
	}
	x := &exchange{memory: s,
		write: area{from: int(o.GetToDaemon()), slots: int(o.GetSlots()), size: int(o.GetSlotBytes())},
		read:  area{from: int(o.GetToPlugin()), slots: int(o.GetSlots()), size: int(o.GetSlotBytes())}}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if x.write.end() > len(s.mem) || x.read.end() > len(s.mem) {
		return nil
	}
	return x
}

// exchange is the part of shared memory that a stream has; nil is none. One goroutine sends and one receives.
type exchange struct {
	memory      *Shared
	write, read area
	turn        int // the slot to write next
}

// area is the slots of one direction.
type area struct{ from, slots, size int }

func (a area) end() int { return a.from + a.slots*a.size }

// place copies the message that f holds into the slot whose turn it is. False: it is not worth it or does not fit, and goes on the stream.
// The slot is free: no more messages are on the way than there are slots.
func (x *exchange) place(f *frame) (offset, length int, ok bool) {
	if x == nil || f.size < placeFrom || f.size > x.write.size {
		return 0, 0, false
	}
	x.memory.mu.RLock()
	defer x.memory.mu.RUnlock()
	if x.memory.mem == nil {
		return 0, 0, false
	}
	offset = x.write.from + x.turn*x.write.size
	f.copyTo(x.memory.mem[offset : offset+f.size])
	x.turn = (x.turn + 1) % x.write.slots
	return offset, f.size, true
}

// find lets r stand at the message that a Placed of n bytes, which r stands at, points to. Until [exchange.release] the
// memory stays where it is; after an error there is nothing to release.
func (x *exchange) find(r *reader, n int) (length int, err error) {
	var offset, size uint64
	err = r.message(n, func(number, wireType, _ int) (bool, error) {
		if wireType != varintType || number > 2 {
			return false, nil
		}
		v, err := r.uvarint()
		if number == 1 {
			offset = v
		} else {
			size = v
		}
		return true, err
	})
	if err != nil {
		return 0, err
	}
	if x == nil {
		return 0, errors.New("it stands in shared memory, of which there is none")
	}
	if from, end := uint64(x.read.from), uint64(x.read.end()); offset < from || offset > end || size > end-offset {
		return 0, fmt.Errorf("it stands in shared memory outside of the sender's slots: %d bytes at %d", size, offset)
	}
	x.memory.mu.RLock()
	if x.memory.mem == nil {
		x.memory.mu.RUnlock()
		return 0, errUnmapped
	}
	r.at(x.memory.mem[offset : offset+size])
	return int(size), nil
}

// release ends a find.
func (x *exchange) release() { x.memory.mu.RUnlock() }
