package wire

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that Codec falls back to
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Codec is gRPC's codec for both halves. Messages of this package are written and read by hand: large vectors are sent from where they lie
// and are received with one copy to where they stay. All other messages go the usual way. On the wire it is protobuf in any case.
type Codec struct{ usual encoding.CodecV2 }

// NewCodec makes the codec; the zero value does not work.
func NewCodec() Codec { return Codec{usual: encoding.GetCodecV2("proto")} }

// message is what the codec handles itself.
type message interface {
	marshal() (mem.BufferSlice, error)
	unmarshal(data mem.BufferSlice) error
}

// Name is that of the usual codec: the other side need not know the difference.
func (c Codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(message); ok {
		return m.marshal()
	}
	return c.usual.Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (c Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(message); ok {
		return m.unmarshal(data)
	}
	return c.usual.Unmarshal(data, v)
}

// marshalControl writes a message that is not worth doing by hand.
func marshalControl(m proto.Message) (mem.BufferSlice, error) {
	b, err := proto.Marshal(m)
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

// unmarshalControl reads one.
func unmarshalControl(data mem.BufferSlice, m proto.Message) error {
	return proto.Unmarshal(data.Materialize(), m)
}

// hot looks for the one field of an envelope that is read by hand. If the message starts with it and ends with it, r stands at its content.
func (r *reader) hot(data mem.BufferSlice, field int) (length int, ok bool) {
	r.open(data)
	if r.left == 0 {
		return 0, false
	}
	number, wireType, n, err := r.field()
	return n, err == nil && number == field && wireType == bytesType && n == r.left
}

// slow does the same for a message that has something else as well, in any order: the last such field counts.
func (r *reader) slow(data mem.BufferSlice, field int) (length int, ok bool, err error) {
	r.open(data)
	found := -1
	err = r.message(r.left, func(number, wireType, n int) (bool, error) {
		if number == field && wireType == bytesType {
			found, length = r.left, n
		}
		return false, nil
	})
	if err != nil || found < 0 {
		return 0, false, err
	}
	r.open(data)
	if err := r.skip(bytesType, r.left-found); err != nil {
		return 0, false, fmt.Errorf("find field %d: %w", field, err)
	}
	return length, true, nil
}

// find is hot, or else slow.
func (r *reader) find(data mem.BufferSlice, field int) (length int, ok bool, err error) {
	if n, ok := r.hot(data, field); ok {
		return n, true, nil
	}
	return r.slow(data, field)
}
