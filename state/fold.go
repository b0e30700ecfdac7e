package state

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// Fold merges two values of one entry: it appends to dst what stands for older and newer together, older having come first. It must be
// associative: (a b) c = a (b c), to the last bit, because operands are folded whenever the database happens to meet them. It keeps
// neither argument, may be called by several goroutines at once, and fails only for damaged values.
type Fold func(dst, older, newer []byte) ([]byte, error)

// mergerName is recorded by the database. It names the framing below, not the folds, so it never changes with a pipeline.
const mergerName = "tidemark.operands.1"

// A stored value is a header byte and either the plain value, or a list of operands that nobody has folded yet, oldest first, each
// with its length before it (uvarint).
const (
	plainValue = 0x00
	listValue  = 0x01
)

// folds is the table of folds by operator. It is copied when it changes and read without a lock.
type folds struct {
	table atomic.Pointer[map[uint32]Fold]
}

func (f *folds) set(operator uint32, fold Fold) {
	for {
		old := f.table.Load()
		next := map[uint32]Fold{}
		if old != nil {
			maps.Copy(next, *old)
		}
		next[operator] = fold
		if f.table.CompareAndSwap(old, &next) {
			return
		}
	}
}

func (f *folds) of(key []byte) Fold {
	table := f.table.Load()
	if table == nil || keys.IsMeta(key) || len(key) < keys.StateHeader {
		return nil
	}
	return (*table)[keys.Operator(key)]
}

// combine appends the stored value that stands for two stored values of a key with that fold, which is nil where none is known.
func combine(dst []byte, fold Fold, older, newer []byte) ([]byte, error) {
	if fold != nil && older[0] == plainValue && newer[0] == plainValue {
		return fold(append(dst, plainValue), older[1:], newer[1:])
	}
	dst = append(dst, listValue)
	dst, err := appendOperands(dst, older)
	if err != nil {
		return nil, err
	}
	return appendOperands(dst, newer)
}

func appendOperands(dst, stored []byte) ([]byte, error) {
	switch {
	case len(stored) == 0:
		return nil, fmt.Errorf("state: value without a header")
	case stored[0] == plainValue:
		dst = binary.AppendUvarint(dst, uint64(len(stored)-1))
		return append(dst, stored[1:]...), nil
	case stored[0] == listValue:
		return append(dst, stored[1:]...), nil
	}
	return nil, fmt.Errorf("state: value with unknown header %d", stored[0])
}

// plain returns the value inside a stored one. Operands are folded into buf, whose memory is reused.
func (f *folds) plain(key, stored []byte, buf *[]byte) ([]byte, error) {
	if len(stored) > 0 && stored[0] == plainValue {
		return stored[1:], nil
	}
	if len(stored) == 0 || stored[0] != listValue {
		return nil, fmt.Errorf("state: value of key %x has an unknown header", key)
	}
	fold := f.of(key)
	if fold == nil {
		return nil, fmt.Errorf("state: no fold is known for operator %d, whose entries hold operands", keys.Operator(key))
	}
	var acc, spare []byte
	rest, first := stored[1:], true
	for len(rest) > 0 {
		n, w := binary.Uvarint(rest)
		if w <= 0 || n > uint64(len(rest)-w) {
			return nil, fmt.Errorf("state: damaged operands of key %x", key)
		}
		operand := rest[w : w+int(n)]
		rest = rest[w+int(n):]
		if first {
			acc, first = append(acc, operand...), false
			continue
		}
		next, err := fold(spare[:0], acc, operand)
		if err != nil {
			return nil, fmt.Errorf("fold operands of key %x: %w", key, err)
		}
		acc, spare = next, acc
	}
	*buf = acc
	return acc, nil
}

// merger makes the database's merge operator. It never loses an operand it cannot fold.
func (f *folds) merger() *pebble.Merger {
	return &pebble.Merger{
		Name: mergerName,
		Merge: func(key, value []byte) (pebble.ValueMerger, error) {
			if len(value) == 0 {
				return nil, fmt.Errorf("state: value without a header")
			}
			m := mergers.Get().(*valueMerger)
			m.fold, m.acc = f.of(key), append(m.acc[:0], value...)
			return m, nil
		},
	}
}

// mergers are reused: a scan over entries with operands needs one for each.
var mergers = sync.Pool{New: func() any { return &valueMerger{} }}

// valueMerger folds the operands of one key as the database hands them over, from the newest to older ones when reading.
type valueMerger struct {
	fold       Fold
	acc, spare []byte
}

func (m *valueMerger) MergeNewer(value []byte) error { return m.step(m.acc, value) }
func (m *valueMerger) MergeOlder(value []byte) error { return m.step(value, m.acc) }

func (m *valueMerger) step(older, newer []byte) error {
	if len(older) == 0 || len(newer) == 0 {
		return fmt.Errorf("state: value without a header")
	}
	next, err := combine(m.spare[:0], m.fold, older, newer)
	if err != nil {
		return err
	}
	m.acc, m.spare = next, m.acc
	return nil
}

// Finish lends the value until Close.
func (m *valueMerger) Finish(bool) ([]byte, io.Closer, error) { return m.acc, m, nil }

// Close gives the memory back. The database calls it when it has no more use for the value.
func (m *valueMerger) Close() error {
	if cap(m.acc)+cap(m.spare) <= 64<<10 {
		m.fold = nil
		mergers.Put(m)
	}
	return nil
}
