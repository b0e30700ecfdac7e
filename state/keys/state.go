package keys

import (
	"encoding/binary"
	"fmt"
	"math"
)

const (
	spaceMeta  = 0x00
	spaceState = 0x01
	spaceEnd   = 0x02 // no key is this high

	// StateHeader is the number of bytes before the operator's own key.
	StateHeader = 1 + 4 + 8 + 8
)

const signBit = 1 << 63

// FlipTime turns an event time into a number whose unsigned order is the order of time.
func FlipTime(time int64) uint64 { return uint64(time) ^ signBit }

// UnflipTime is the inverse of [FlipTime].
func UnflipTime(flipped uint64) int64 { return int64(flipped ^ signBit) }

// AppendState appends the store key of an operator's entry.
func AppendState(dst []byte, operator uint32, time int64, hash uint64, key []byte) []byte {
	dst = appendHeader(dst, operator, FlipTime(time))
	dst = binary.BigEndian.AppendUint64(dst, hash)
	return append(dst, key...)
}

func appendHeader(dst []byte, operator uint32, flipped uint64) []byte {
	dst = append(dst, spaceState)
	dst = binary.BigEndian.AppendUint32(dst, operator)
	return binary.BigEndian.AppendUint64(dst, flipped)
}

// Entry is a decoded state key. Key points into the encoded one.
type Entry struct {
	Operator uint32
	Time     int64
	Hash     uint64
	Key      []byte
}

// DecodeState is the inverse of [AppendState].
func DecodeState(encoded []byte) (Entry, error) {
	if len(encoded) < StateHeader || encoded[0] != spaceState {
		return Entry{}, fmt.Errorf("keys: %x is not a state key", encoded)
	}
	return Entry{
		Operator: binary.BigEndian.Uint32(encoded[1:]),
		Time:     UnflipTime(binary.BigEndian.Uint64(encoded[5:])),
		Hash:     binary.BigEndian.Uint64(encoded[13:]),
		Key:      encoded[StateHeader:],
	}, nil
}

// Hashes is a range of hashes, both ends included, so that the whole range can be written.
type Hashes struct{ First, Last uint64 }

// AllHashes is every hash.
func AllHashes() Hashes { return Hashes{0, math.MaxUint64} }

// Contains is true for a hash within the range.
func (h Hashes) Contains(hash uint64) bool { return h.First <= hash && hash <= h.Last }

// PaneBounds is the half-open run of store keys [start, end) that holds one pane's entries within hashes.
func PaneBounds(operator uint32, time int64, hashes Hashes) (start, end []byte) {
	start = appendHeader(make([]byte, 0, StateHeader), operator, FlipTime(time))
	start = binary.BigEndian.AppendUint64(start, hashes.First)
	if hashes.Last == math.MaxUint64 {
		return start, PaneEnd(operator, time)
	}
	end = appendHeader(make([]byte, 0, StateHeader), operator, FlipTime(time))
	return start, binary.BigEndian.AppendUint64(end, hashes.Last+1)
}

// PaneEnd is the first store key after all entries of a pane.
func PaneEnd(operator uint32, time int64) []byte {
	flipped := FlipTime(time)
	if flipped == math.MaxUint64 {
		_, end := OperatorBounds(operator)
		return end
	}
	return appendHeader(make([]byte, 0, StateHeader), operator, flipped+1)
}

// PaneOf is what the store keys of a pane have in common: the key up to the hash. It is nil for other keys. It points into encoded.
func PaneOf(encoded []byte) []byte {
	if len(encoded) < StateHeader || encoded[0] != spaceState {
		return nil
	}
	return encoded[: StateHeader-8 : StateHeader-8]
}

// OperatorBounds is the half-open run of store keys [start, end) of an operator.
func OperatorBounds(operator uint32) (start, end []byte) {
	start = binary.BigEndian.AppendUint32([]byte{spaceState}, operator)
	if operator == math.MaxUint32 {
		return start, []byte{spaceEnd}
	}
	return start, binary.BigEndian.AppendUint32([]byte{spaceState}, operator+1)
}

// Operator is the operator of a state key. It trusts its argument.
func Operator(encoded []byte) uint32 { return binary.BigEndian.Uint32(encoded[1:]) }
