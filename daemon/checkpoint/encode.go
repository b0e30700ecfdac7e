package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// Records are meta values of the store, by name:
//
//	"checkpoint"                         version | number | time, ms | store id
//	"source", source                     version | watermark | guard
//	"partition", source, partition       version | flags | watermark | position | header | assigner [| marks]
//	"stage", stage                       version | watermark | valve
//	"restored"                           version | flags (1 = skip) | id for sinks without books
//	"transform", step                    state of a step's plugin, see Owned
//	"component", name                    version | kind | operator | shape | words
//
// Numbers are varints, bytes have their length before them (uvarint). Each kind of record has a version of its own; a new layout gets a
// new one, and old ones stay readable. The outboxes of package deliver stand beside these.
const (
	recordVersion    = 1 // 2026: the first one of each kind
	flagEnded        = 1
	flagIdle         = 2
	flagMarks        = 4 // behind the assigner: what confirm_jump knows of watermarks
	kindCheckpoint   = "checkpoint"
	kindSource       = "source"
	kindPartition    = "partition"
	kindStage        = "stage"
	kindComponent    = "component"
	kindRestored     = "restored"
	kindTransform    = "transform"
	damagedRecordFix = "restore a savepoint with `tidemark savepoint restore`"
)

var errRecord = errors.New("damaged record")

func (h head) encode() []byte {
	b := []byte{recordVersion}
	b = binary.AppendUvarint(b, h.number)
	b = binary.AppendVarint(b, h.time)
	return appendBytes(b, []byte(h.id))
}

func decodeHead(b []byte) (head, error) {
	r := record(b)
	h := head{number: r.uvarint(), time: r.varint(), id: string(r.bytes())}
	return h, r.end()
}

func (s Source) encode() []byte {
	b := binary.AppendVarint([]byte{recordVersion}, s.Watermark)
	return appendBytes(b, s.Guard)
}

func decodeSource(b []byte) (Source, error) {
	r := record(b)
	s := Source{Watermark: r.varint(), Guard: r.bytes(), Partitions: map[string]Partition{}}
	return s, r.end()
}

func (p Partition) encode() []byte {
	flags := byte(0)
	if p.Ended {
		flags |= flagEnded
	}
	if p.Idle {
		flags |= flagIdle
	}
	if p.Marks != nil {
		flags |= flagMarks
	}
	b := binary.AppendVarint([]byte{recordVersion, flags}, p.Watermark)
	b = appendBytes(b, p.Position)
	b = appendBytes(b, p.Header)
	b = appendBytes(b, p.Assigner)
	if p.Marks != nil {
		b = appendBytes(b, p.Marks)
	}
	return b
}

func decodePartition(b []byte) (Partition, error) {
	r := record(b)
	flags := r.byte()
	p := Partition{Ended: flags&flagEnded != 0, Idle: flags&flagIdle != 0, Watermark: r.varint(), Position: r.bytes(), Header: r.bytes(), Assigner: r.bytes()}
	if flags&flagMarks != 0 {
		p.Marks = r.bytes()
	}
	if flags&^(flagEnded|flagIdle|flagMarks) != 0 {
		return p, errRecord
	}
	return p, r.end()
}

func (s Stage) encode() []byte {
	b := binary.AppendVarint([]byte{recordVersion}, s.Watermark)
	return appendBytes(b, s.Valve)
}

func decodeStage(b []byte) (Stage, error) {
	r := record(b)
	s := Stage{Watermark: r.varint(), Valve: r.bytes()}
	return s, r.end()
}

func (c Component) encode() []byte {
	b := appendBytes([]byte{recordVersion}, []byte(c.Kind))
	b = binary.AppendUvarint(b, uint64(c.Operator))
	b = appendBytes(b, []byte(c.Shape))
	return appendBytes(b, []byte(c.Words))
}

func decodeComponent(b []byte) (Component, error) {
	r := record(b)
	c := Component{Kind: ComponentKind(r.bytes()), Operator: uint32(r.uvarint()), Shape: string(r.bytes()), Words: string(r.bytes())}
	return c, r.end()
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// reader takes a record apart. After the first mistake everything is zero.
type reader struct {
	rest []byte
	bad  bool
}

func record(b []byte) *reader {
	r := &reader{rest: b}
	if r.byte() != recordVersion {
		r.fail()
	}
	return r
}

func (r *reader) fail() { r.rest, r.bad = nil, true }

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// bytes copies; nothing is nil.
func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	if n == 0 {
		return nil
	}
	v := append([]byte(nil), r.rest[:n]...)
	r.rest = r.rest[n:]
	return v
}

func (r *reader) end() error {
	if r.bad || len(r.rest) > 0 {
		return errRecord
	}
	return nil
}

// damaged says which record cannot be read.
func damaged(store Reader, name keys.Name, err error) error {
	return &state.Error{
		Kind: state.Damaged, Path: store.Dir(), Summary: fmt.Sprintf("the record %q of the last checkpoint cannot be read", string(name)),
		Hint: damagedRecordFix, Err: err,
	}
}
