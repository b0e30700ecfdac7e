package wire

import (
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// The envelopes of the streams. Each has one kind of content that is written and read by hand, under the field number of the .proto, and
// the generated message for all others.

const (
	fieldSourceBatch = 3 // SourceResponse.batch
	fieldRows        = 2 // AssignerRequest.rows, TransformRequest.rows
	fieldAssigned    = 3 // AssignerResponse.assigned
	fieldTransformed = 3 // TransformResponse.transformed
	fieldWindows     = 5 // TransformRequest.windows
	fieldWrite       = 3 // SinkRequest.write

	// The same contents in shared memory: a Placed.
	fieldPlacedBatch  = 10 // SourceResponse.placed
	fieldPlacedRows   = 7  // AssignerRequest.placed, TransformRequest.placed
	fieldPlacedAnswer = 6  // AssignerResponse.placed, TransformResponse.placed
)

// content reads what stands in the envelope's field, or in shared memory if the envelope has a Placed instead: read gets its length. ok is
// false if the envelope has neither.
func (r *reader) content(data mem.BufferSlice, field int, x *exchange, placed int, read func(length int) error) (ok bool, err error) {
	n, ok, err := r.find(data, field)
	if err != nil {
		return false, err
	}
	if ok {
		return true, read(n)
	}
	if n, ok, err = r.find(data, placed); err != nil || !ok {
		return false, err
	}
	if n, err = x.find(r, n); err != nil {
		return true, err
	}
	defer x.release()
	return true, read(n)
}

// sourceResponse is SourceResponse: batch or control.
type sourceResponse struct {
	batch   *batch.Batch
	control *pluginv1.SourceResponse
	frames  *ring
	shared  *exchange
	copied  bool // batch has been written to shared memory
	r       reader
}

func (m *sourceResponse) marshal() (mem.BufferSlice, error) {
	if m.batch == nil {
		return marshalControl(m.control)
	}
	f := m.frames.next()
	f.whole(m.batch)
	var out mem.BufferSlice
	out, m.copied = m.frames.finish(f, fieldSourceBatch, m.shared, fieldPlacedBatch)
	return out, nil
}

func (m *sourceResponse) unmarshal(data mem.BufferSlice) error {
	m.batch, m.control = nil, nil
	ok, err := m.r.content(data, fieldSourceBatch, m.shared, fieldPlacedBatch, func(n int) error {
		b := batch.Get()
		if err := m.r.batch(n, b); err != nil {
			b.Release()
			return fmt.Errorf("batch: %w", err)
		}
		m.batch = b
		return nil
	})
	if err != nil {
		return fmt.Errorf("source response: %w", err)
	}
	if !ok {
		m.control = &pluginv1.SourceResponse{}
		return unmarshalControl(data, m.control)
	}
	return nil
}

// rowsRequest is AssignerRequest and TransformRequest: rows or control.
type rowsRequest[C control] struct {
	send    *batch.Batch // to be written: its selected rows, as far as wanted
	want    *Wanted
	frames  *ring
	rows    *batch.Batch // what has been read, reused; valid if isRows
	isRows  bool
	control C
	make    func() C
	shared  *exchange
	r       reader
}

func (m *rowsRequest[C]) marshal() (mem.BufferSlice, error) {
	if m.send == nil {
		return marshalControl(m.control)
	}
	f := m.frames.next()
	f.selected(m.send, m.want)
	out, _ := m.frames.finish(f, fieldRows, m.shared, fieldPlacedRows)
	return out, nil
}

func (m *rowsRequest[C]) unmarshal(data mem.BufferSlice) error {
	m.isRows = false
	var err error
	m.isRows, err = m.r.content(data, fieldRows, m.shared, fieldPlacedRows, func(n int) error {
		m.rows.Reset()
		return m.r.batch(n, m.rows)
	})
	if err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	if !m.isRows {
		m.control = m.make()
		return unmarshalControl(data, m.control)
	}
	return nil
}

// assigned is the content of Assigned. The slices are reused.
type assigned struct {
	rows    int
	times   []int64
	marks   []batch.Mark
	markers []uint32
	bad     []batch.BadRow
}

// assignerResponse is AssignerResponse: assigned or control.
type assignerResponse struct {
	assigned
	isAssigned bool
	control    *pluginv1.AssignerResponse
	frames     *ring
	shared     *exchange
	r          reader
}

func (m *assignerResponse) marshal() (mem.BufferSlice, error) {
	if !m.isAssigned {
		return marshalControl(m.control)
	}
	f := m.frames.next()
	f.number(1, uint64(m.rows))
	f.i64 = append(f.i64[:0], m.times...) // the batch is used again before the frame has arrived
	f.bytes(2, bytesOfInt64(f.i64))
	f.marks(3, m.marks)
	f.bytes(4, bytesOfUint32(m.markers))
	f.badRows(5, m.bad)
	out, _ := m.frames.finish(f, fieldAssigned, m.shared, fieldPlacedAnswer)
	return out, nil
}

func (m *assignerResponse) unmarshal(data mem.BufferSlice) error {
	m.isAssigned = false
	ok, err := m.r.content(data, fieldAssigned, m.shared, fieldPlacedAnswer, func(n int) error { return m.read(&m.r, n) })
	if err != nil {
		return fmt.Errorf("assigned: %w", err)
	}
	if m.isAssigned = ok; !ok {
		m.control = &pluginv1.AssignerResponse{}
		return unmarshalControl(data, m.control)
	}
	return nil
}

func (a *assigned) read(r *reader, length int) error {
	a.rows, a.times, a.marks, a.markers, a.bad = 0, a.times[:0], a.marks[:0], a.markers[:0], a.bad[:0]
	err := r.message(length, func(number, wireType, n int) (bool, error) {
		switch {
		case number == 1 && wireType == varintType:
			v, err := r.uvarint()
			a.rows = int(v)
			return true, err
		case number == 2 && wireType == bytesType && n%8 == 0:
			a.times = grow(a.times, n/8)
			r.copy(bytesOfInt64(a.times))
		case number == 3 && wireType == bytesType:
			var err error
			a.marks, err = r.marks(a.marks, n)
			return true, err
		case number == 4 && wireType == bytesType && n%4 == 0:
			a.markers = grow(a.markers, n/4)
			r.copy(bytesOfUint32(a.markers))
		case number == 5 && wireType == bytesType:
			var err error
			a.bad, err = r.badRow(a.bad, n)
			return true, err
		case wireType == bytesType && (number == 2 || number == 4):
			return true, errGarbage
		default:
			return false, nil
		}
		return true, nil
	})
	return err
}

// check holds an answer against the rows that were asked about.
func (a *assigned) check(rows int) error {
	if a.rows != rows {
		return fmt.Errorf("it was asked about %d rows and answered about %d", rows, a.rows)
	}
	if len(a.times) != 0 && len(a.times) != rows {
		return fmt.Errorf("it returned %d timestamps for %d rows", len(a.times), rows)
	}
	return errors.Join(checkMarks(a.marks, rows), checkRows("a marker", a.markers, rows), checkRows("a refused row", rowsOf(a.bad), rows))
}

// transformResponse is TransformResponse: transformed or control.
type transformResponse struct {
	out         *batch.Batch // owned by the receiver
	origin      []uint32
	bad         []batch.BadRow
	transformed bool
	control     *pluginv1.TransformResponse
	frames      *ring
	shared      *exchange
	r           reader
}

func (m *transformResponse) marshal() (mem.BufferSlice, error) {
	if !m.transformed {
		return marshalControl(m.control)
	}
	rows := m.frames.next()
	rows.whole(m.out)
	f := m.frames.next()
	if rows.size > 0 {
		f.uvarint(tag(1, bytesType))
		f.uvarint(uint64(rows.size))
		for _, b := range rows.buffers(0) {
			f.raw(b.ReadOnlyData())
		}
	}
	f.bytes(2, bytesOfUint32(m.origin))
	f.badRows(3, m.bad)
	out, _ := m.frames.finish(f, fieldTransformed, m.shared, fieldPlacedAnswer)
	return out, nil
}

func (m *transformResponse) unmarshal(data mem.BufferSlice) error {
	m.transformed, m.out, m.origin, m.bad = false, nil, nil, m.bad[:0]
	ok, err := m.r.content(data, fieldTransformed, m.shared, fieldPlacedAnswer, m.read)
	if err != nil {
		return fmt.Errorf("transformed: %w", err)
	}
	if !ok {
		m.control = &pluginv1.TransformResponse{}
		return unmarshalControl(data, m.control)
	}
	m.transformed = true
	return nil
}

func (m *transformResponse) read(length int) error {
	r := &m.r
	m.out = batch.Get()
	err := r.message(length, func(number, wireType, n int) (bool, error) {
		switch {
		case number == 1 && wireType == bytesType:
			return true, r.batch(n, m.out)
		case number == 2 && wireType == bytesType:
			if n%4 != 0 {
				return true, errGarbage
			}
			m.origin = make([]uint32, n/4)
			r.copy(bytesOfUint32(m.origin))
		case number == 3 && wireType == bytesType:
			var err error
			m.bad, err = r.badRow(m.bad, n)
			return true, err
		default:
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		m.out.Release()
		m.out = nil
	}
	return err
}

// sinkRequest is SinkRequest: write or control.
type sinkRequest struct {
	first   uint64
	send    *batch.Batch // to be written
	text    bool         // as raw rows, else as columns
	rows    *batch.Batch // what has been read, reused; valid if isWrite
	isWrite bool
	control *pluginv1.SinkRequest
	frames  *ring
	r       reader
}

func (m *sinkRequest) marshal() (mem.BufferSlice, error) {
	if m.send == nil {
		return marshalControl(m.control)
	}
	rows := m.frames.next()
	if m.text {
		rows.number(1, uint64(m.send.Alive()))
		rows.rawLines(m.send)
	} else {
		rows.selected(m.send, &Wanted{All: true})
	}
	f := m.frames.next()
	f.number(1, m.first)
	f.uvarint(tag(2, bytesType))
	f.uvarint(uint64(rows.size))
	for _, b := range rows.buffers(0) {
		f.raw(b.ReadOnlyData())
	}
	return f.buffers(fieldWrite), nil
}

func (m *sinkRequest) unmarshal(data mem.BufferSlice) error {
	m.isWrite = false
	length, ok, err := m.r.find(data, fieldWrite)
	if err != nil {
		return fmt.Errorf("sink request: %w", err)
	}
	if !ok {
		m.control = &pluginv1.SinkRequest{}
		return unmarshalControl(data, m.control)
	}
	r := &m.r
	m.isWrite, m.first = true, 0
	m.rows.Reset()
	err = r.message(length, func(number, wireType, n int) (bool, error) {
		switch {
		case number == 1 && wireType == varintType:
			v, err := r.uvarint()
			m.first = v
			return true, err
		case number == 2 && wireType == bytesType:
			return true, r.batch(n, m.rows)
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// control is a generated message.
type control interface {
	*pluginv1.AssignerRequest | *pluginv1.TransformRequest
	proto.Message
}
