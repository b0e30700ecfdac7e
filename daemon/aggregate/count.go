package aggregate

import (
	"encoding/binary"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// countAcc counts rows, or rows whose cell is not null, or rows whose cell is a number. One word, no flags.
type countAcc struct {
	arg     string // empty: rows
	numbers bool   // only what sumAcc takes
	slot    slot
	b       *batch.Batch
	col     *batch.Column
}

func (c *countAcc) size() (int, uint) { return 1, 0 }
func (c *countAcc) put(s slot)        { c.slot = s }

func (c *countAcc) bind(b *batch.Batch) {
	c.b, c.col = b, nil
	if c.arg != "" {
		c.col = b.Column(c.arg)
	}
}

func (c *countAcc) add(mem []uint64, at, rows []uint32, _ *Heap) {
	w := c.slot.word
	if c.arg == "" {
		for _, e := range at {
			mem[e+w]++
		}
		return
	}
	switch k := uniform(c.col); {
	case k <= batch.Null:
		return
	case k <= batch.Float || k != mixed && !c.numbers:
		for _, e := range at {
			mem[e+w]++
		}
		return
	}
	kinds := c.col.Kinds
	for i, r := range rows {
		if k := kinds[r]; k > batch.Null && (!c.numbers || c.isNumber(k, c.col.Bits[r])) {
			mem[at[i]+w]++
		}
	}
}

func (c *countAcc) isNumber(k batch.Kind, v uint64) bool {
	return k <= batch.Float || k == batch.JSON && isJSONInteger(c.b.Text(v))
}

func (c *countAcc) merge(dst []uint64, dstAt []uint32, _ *Heap, src []uint64, srcAt []uint32, _ *Heap) {
	w := c.slot.word
	for i, d := range dstAt {
		dst[d+w] += src[srcAt[i]+w]
	}
}

func (c *countAcc) encode(p []byte, mem []uint64, at uint32, _ *Heap) []byte {
	return binary.AppendUvarint(p, mem[at+c.slot.word])
}

func (c *countAcc) decode(d *decoder, mem []uint64, at uint32, _ *Heap) {
	mem[at+c.slot.word] = d.uvarint()
}

func (c *countAcc) release([]uint64, uint32, *Heap) {}

func (c *countAcc) results(_ *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, _ *Heap) {
	for i, e := range at {
		cols[0].Set(row+i, batch.Int, mem[e+c.slot.word])
	}
}
