package wire

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"google.golang.org/grpc/mem"
)

// windowsRequest is TransformRequest with windows, the only request of its stream after the first.
type windowsRequest struct {
	windows *batch.Batch // to be written: its selected rows; or what has been read, reused
	records *batch.Batch
	counts  []uint32
	columns *Wanted // of windows
	want    *Wanted // of records
	frames  *ring
	known   bool // what has been read is windows
	r       reader
}

func (m *windowsRequest) marshal() (mem.BufferSlice, error) {
	windows, records, f := m.frames.next(), m.frames.next(), m.frames.next()
	windows.selected(m.windows, m.columns)
	records.selected(m.records, m.want)
	f.message(1, windows)
	f.message(2, records)
	f.u32 = append(f.u32[:0], m.counts...) // the caller uses its memory again before the frame has arrived
	f.bytes(3, bytesOfUint32(f.u32))
	return f.buffers(fieldWindows), nil
}

// message writes a message field that another frame holds.
func (f *frame) message(field int, content *frame) {
	if content.size == 0 {
		return
	}
	f.uvarint(tag(field, bytesType))
	f.uvarint(uint64(content.size))
	for _, b := range content.buffers(0) {
		f.raw(b.ReadOnlyData())
	}
}

func (m *windowsRequest) unmarshal(data mem.BufferSlice) error {
	length, ok, err := m.r.find(data, fieldWindows)
	if m.known = ok; err != nil || !ok {
		return err // another request is ignored
	}
	r := &m.r
	m.windows.Reset()
	m.records.Reset()
	m.counts = m.counts[:0]
	err = r.message(length, func(number, wireType, n int) (bool, error) {
		switch {
		case number == 1 && wireType == bytesType:
			return true, r.batch(n, m.windows)
		case number == 2 && wireType == bytesType:
			return true, r.batch(n, m.records)
		case number == 3 && wireType == bytesType:
			if n%4 != 0 {
				return true, errGarbage
			}
			m.counts = grow(m.counts, n/4)
			r.copy(bytesOfUint32(m.counts))
			return true, nil
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("windows: %w", err)
	}
	return CheckWindows(m.windows.N, m.records.N, m.counts)
}

// CheckWindows compares the shape of what an aggregate or a window function is given.
func CheckWindows(windows, records int, counts []uint32) error {
	sum := 0
	for _, n := range counts {
		sum += int(n)
	}
	if len(counts) != windows || sum != records {
		return fmt.Errorf("there are %d windows and %d records, and counts for %d windows of %d records together", windows, records, len(counts), sum)
	}
	return nil
}
