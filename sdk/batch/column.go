package batch

import (
	"math"
	"math/bits"
)

// Kind says what one cell holds. Fields of text formats are dynamically typed, so each cell has its own; Column.Present
// tells quickly that they are all alike.
type Kind uint8

const (
	Missing Kind = iota // the field is not there
	Null                // the field is there and says null
	Bool                // Bits is 0 or 1
	Int                 // Bits is an int64
	Uint                // Bits is a uint64 above math.MaxInt64; smaller ones are Int
	Float               // Bits is a float64 (math.Float64bits)
	String              // Bits is a reference, see Ref; valid UTF-8 after decode
	JSON                // Bits is a reference to JSON text: an object, an array, or a number no other kind holds exactly
	Time                // Bits is an int64: event time in ms
)

var kindNames = [...]string{"missing", "null", "bool", "int", "uint", "float", "string", "json", "timestamp"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// extraBit marks a reference into Extra instead of Data.
const extraBit = 1 << 63

// Ref packs an offset (below 2^31) and a length (below 2^32) of text in Data.
func Ref(off, n int) uint64 { return uint64(off)<<32 | uint64(uint32(n)) }

// ExtraRef does the same for text in Extra.
func ExtraRef(off, n int) uint64 { return Ref(off, n) | extraBit }

// Column is a vector of N cells.
type Column struct {
	Name    string
	Kinds   []Kind
	Bits    []uint64
	Present uint16 // bit k is set when some cell has Kind k
}

func (c *Column) reset(name string, n int) {
	c.Name, c.Present = name, 0
	if cap(c.Kinds) < n || cap(c.Bits) < n {
		c.Kinds, c.Bits = make([]Kind, n), make([]uint64, n)
	}
	c.Kinds, c.Bits = c.Kinds[:n], c.Bits[:n]
}

// Uniform reports the one kind that all cells have.
func (c *Column) Uniform() (Kind, bool) {
	if c.Present != 0 && c.Present&(c.Present-1) == 0 {
		return Kind(bits.TrailingZeros16(c.Present)), true
	}
	return 0, false
}

// Set writes cell i.
func (c *Column) Set(i int, k Kind, v uint64) {
	c.Kinds[i], c.Bits[i] = k, v
	c.Present |= 1 << k
}

func (c *Column) SetMissing(i int)          { c.Set(i, Missing, 0) }
func (c *Column) SetNull(i int)             { c.Set(i, Null, 0) }
func (c *Column) SetInt(i int, v int64)     { c.Set(i, Int, uint64(v)) }
func (c *Column) SetFloat(i int, v float64) { c.Set(i, Float, math.Float64bits(v)) }
func (c *Column) SetTime(i int, ms int64)   { c.Set(i, Time, uint64(ms)) }

// SetUint writes v as Int where it fits, else as Uint.
func (c *Column) SetUint(i int, v uint64) {
	if v <= math.MaxInt64 {
		c.Set(i, Int, v)
	} else {
		c.Set(i, Uint, v)
	}
}

func (c *Column) SetBool(i int, v bool) {
	if v {
		c.Set(i, Bool, 1)
	} else {
		c.Set(i, Bool, 0)
	}
}

// IsNull is true for cells without a value (Missing or Null).
func (c *Column) IsNull(i int) bool { return c.Kinds[i] <= Null }

// Text returns the bytes that a reference of this batch points to.
func (b *Batch) Text(ref uint64) []byte {
	n := ref & 0xffffffff
	if ref&extraBit != 0 {
		off := (ref &^ extraBit) >> 32
		return b.Extra[off : off+n : off+n]
	}
	off := ref >> 32
	return b.Data[off : off+n : off+n]
}

// SetString copies s into Extra and points cell i of c to it. c must be a column of b.
func (b *Batch) SetString(c *Column, i int, s []byte) {
	off := len(b.Extra)
	b.Extra = append(b.Extra, s...)
	c.Set(i, String, ExtraRef(off, len(s)))
}

// SetText is SetString for a string, and for any kind that holds a reference.
func (b *Batch) SetText(c *Column, i int, k Kind, s string) {
	off := len(b.Extra)
	b.Extra = append(b.Extra, s...)
	c.Set(i, k, ExtraRef(off, len(s)))
}
