package baseline

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Digest stands for a set of rows, whatever their order. Two sets with the same digest are the same but for a chance of one in 2^64.
type Digest struct {
	Rows    int64  `json:"rows"`
	Records int64  `json:"records"` // sum of N
	Hash    uint64 `json:"hash,string"`
}

// Add adds a row.
func (d *Digest) Add(r *Row) {
	var b [128]byte
	buf := b[:0]
	for _, v := range [...]int64{r.Start, r.End, r.N, r.Sum, r.Min, r.Max} {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(v))
	}
	buf = append(buf, r.Key...)
	d.Rows++
	d.Records += r.N
	d.Hash += xxh3.Hash(buf) // a sum does not know the order, and equal rows do not cancel out as with xor
}
