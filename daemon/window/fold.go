package window

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
)

// Folder merges what was handed to [StateWriter.Merge] with what an entry had. It belongs to one goroutine.
type Folder struct {
	layout *aggregate.Layout
	stride int
	mem    []uint64
	heap   aggregate.Heap
}

// NewFolder is for the operators that [New] makes from a layout, and nil where their entries are never merged.
func NewFolder(spec Spec, layout *aggregate.Layout, env Env) *Folder {
	if !panesCanDo(spec, env) {
		return nil
	}
	// The accumulators stand after a word that lends them the same bits as in a table.
	l := layout.Place(aggregate.Placement{First: 1, FlagWord: 0, FlagShift: 32, FlagBits: 32})
	stride := 1 + l.Words()
	return &Folder{layout: l, stride: stride, mem: make([]uint64, 2*stride)}
}

// Fold appends to dst what older and newer are together; older came first. It is associative, to the last bit, but for layouts whose order
// matters, whose entries are never merged. What is not about the rows is the older one's: a pane's entry that is merged into has no late rows.
func (f *Folder) Fold(dst, older, newer []byte) ([]byte, error) {
	f.heap.Reset()
	clear(f.mem)
	a, err := parseValue(older)
	if err == nil {
		err = f.fill(0, a)
	}
	if err != nil {
		return nil, err
	}
	b, err := parseValue(newer)
	if err == nil {
		err = f.fill(f.stride, b)
	}
	if err != nil {
		return nil, err
	}
	to, from := [1]uint32{0}, [1]uint32{uint32(f.stride)}
	f.layout.Merge(f.mem, to[:], &f.heap, f.mem, from[:], &f.heap)
	marks, count := a.marks, a.count+b.count
	if count > 0 {
		marks |= storedCount
	}
	dst = append(dst, paneVersion, marks)
	if count > 0 {
		dst = binary.AppendUvarint(dst, count)
	}
	return f.layout.Encode(dst, f.mem, 0, &f.heap), nil
}

func (f *Folder) fill(at int, v storedEntry) error {
	rest, err := f.layout.Decode(v.rest, f.mem, uint32(at), &f.heap)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes too many", len(rest))
	}
	if err != nil {
		return fmt.Errorf("window: merge an entry: %w", err)
	}
	return nil
}
