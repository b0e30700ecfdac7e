package aggregate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// RowsFunc keeps the rows themselves, with the columns of Spec.Args, for aggregates that plugins compute. It is not a function that a file
// can name.
const RowsFunc = "rows"

// DefaultRows is how many rows of a window RowsFunc keeps. A window with more gives no result.
const DefaultRows = 10_000

// rowsAcc keeps rows with their times. Up to the bound they are all there; beyond it the first ones by (time, arrival) are, and the others
// are counted.
//
// The word is a handle to a block:
//
//	word 0     number of rows kept
//	word 1     number of rows left out
//	word 2…    for each row, in order of arrival: time, kinds (a byte for each column), bits or handle of the text of each column
//
// As with collect, the first of a union do not depend on how the union is grouped.
type rowsAcc struct {
	args  []string
	limit int
	slot  slot
	b     *batch.Batch
	cols  []*batch.Column

	order []uint32 // reused
	moved []uint64
}

// kindWords and rowWords are the words of a row's kinds, and of a row.
func (x *rowsAcc) kindWords() int { return (len(x.args) + 7) / 8 }
func (x *rowsAcc) rowWords() int  { return 1 + x.kindWords() + len(x.args) }

func (x *rowsAcc) size() (int, uint) { return 1, 0 }
func (x *rowsAcc) put(s slot)        { x.slot = s }

func (x *rowsAcc) bind(b *batch.Batch) {
	x.b, x.cols = b, x.cols[:0]
	for _, a := range x.args {
		x.cols = append(x.cols, b.Column(a))
	}
}

func (x *rowsAcc) add(mem []uint64, at, rows []uint32, h *Heap) {
	for i, r := range rows {
		w := x.row(&mem[at[i]+x.slot.word], timeOf(x.b, r), h)
		for k, c := range x.cols {
			if c == nil {
				continue // missing
			}
			kind, v := c.Kinds[r], c.Bits[r]
			x.setKind(w, k, kind)
			if hasText(kind) {
				w[1+x.kindWords()+k] = uint64(h.setText(0, x.b.Text(v)))
			} else if kind > batch.Null {
				w[1+x.kindWords()+k] = v
			}
		}
	}
}

func (x *rowsAcc) setKind(w []uint64, k int, kind batch.Kind) {
	w[1+k/8] |= uint64(kind) << (k % 8 * 8)
}
func (x *rowsAcc) kind(w []uint64, k int) batch.Kind { return batch.Kind(w[1+k/8] >> (k % 8 * 8)) }

// row appends a row of missing cells. NB: what it returns is valid although texts are stored behind it: blocks do not move.
func (x *rowsAcc) row(p *uint64, t int64, h *Heap) []uint64 {
	if *p == 0 {
		*p = uint64(h.alloc(2 + 2*x.rowWords()))
	}
	w := h.block(handle(*p))
	n := int(w[0])
	if n >= 2*x.limit {
		x.shrink(w, h)
		n = int(w[0])
	}
	end := 2 + x.rowWords()*(n+1)
	if end > len(w) {
		*p = uint64(h.grow(handle(*p), end))
		w = h.block(handle(*p))
	}
	w[0]++
	row := w[end-x.rowWords() : end]
	clear(row)
	row[0] = uint64(t)
	return row
}

func (x *rowsAcc) at(w []uint64, i int) []uint64 { return w[2+x.rowWords()*i:][:x.rowWords()] }

// sorted lists a block's rows by (time, arrival); it is valid until the next call.
func (x *rowsAcc) sorted(w []uint64) []uint32 {
	x.order = x.order[:0]
	ascending := true
	for i := range int(w[0]) {
		x.order = append(x.order, uint32(i))
		ascending = ascending && (i == 0 || int64(x.at(w, i-1)[0]) <= int64(x.at(w, i)[0]))
	}
	if !ascending {
		slices.SortStableFunc(x.order, func(a, b uint32) int {
			return cmp.Compare(int64(x.at(w, int(a))[0]), int64(x.at(w, int(b))[0]))
		})
	}
	return x.order
}

// shrink sorts a block's rows and drops those beyond the bound.
func (x *rowsAcc) shrink(w []uint64, h *Heap) {
	n := int(w[0])
	x.moved = x.moved[:0]
	for i, r := range x.sorted(w) {
		if i >= x.limit {
			x.releaseRow(x.at(w, int(r)), h)
			continue
		}
		x.moved = append(x.moved, x.at(w, int(r))...)
	}
	copy(w[2:], x.moved)
	w[0] = uint64(min(n, x.limit))
	w[1] += uint64(n) - w[0]
}

func (x *rowsAcc) releaseRow(row []uint64, h *Heap) {
	for k := range x.args {
		releaseHeld(x.kind(row, k), row[1+x.kindWords()+k], h)
	}
}

func (x *rowsAcc) merge(dst []uint64, dstAt []uint32, dh *Heap, src []uint64, srcAt []uint32, sh *Heap) {
	for i, d := range dstAt {
		s := handle(src[srcAt[i]+x.slot.word])
		if s == 0 {
			continue
		}
		w := sh.block(s)
		p := &dst[d+x.slot.word]
		for j := range int(w[0]) {
			from := x.at(w, j)
			to := x.row(p, int64(from[0]), dh)
			copy(to, from)
			for k := range x.args {
				if hasText(x.kind(from, k)) {
					v := 1 + x.kindWords() + k
					to[v] = uint64(dh.setText(0, sh.text(handle(from[v]))))
				}
			}
		}
		if w[1] != 0 {
			if *p == 0 {
				*p = uint64(dh.alloc(2))
			}
			dh.block(handle(*p))[1] += w[1]
		}
	}
}

// encode writes the number of rows, how many are left out, and the rows in order: the time as a difference, then each column's value, or
// the kind alone where it is null or missing. It is what [UnpackRows] reads.
func (x *rowsAcc) encode(p []byte, mem []uint64, at uint32, h *Heap) []byte {
	b := handle(mem[at+x.slot.word])
	if b == 0 {
		return append(p, 0, 0)
	}
	w := h.block(b)
	n := min(int(w[0]), x.limit)
	p = binary.AppendUvarint(p, uint64(n))
	p = binary.AppendUvarint(p, w[1]+w[0]-uint64(n))
	last := int64(0)
	for _, r := range x.sorted(w)[:n] {
		row := x.at(w, int(r))
		p = binary.AppendVarint(p, int64(row[0])-last) // wraps around and back at the ends of time
		last = int64(row[0])
		for k := range x.args {
			kind := x.kind(row, k)
			if kind <= batch.Null {
				p = append(p, byte(kind))
				continue
			}
			v, text := getValue(row[1+x.kindWords()+k], kind, h)
			p = appendValue(p, kind, v, text)
		}
	}
	return p
}

func (x *rowsAcc) decode(d *decoder, mem []uint64, at uint32, h *Heap) {
	n := d.count(1 + len(x.args))
	left := d.uvarint()
	if d.err != nil || n == 0 && left == 0 {
		return
	}
	p := &mem[at+x.slot.word]
	last := int64(0)
	for range n {
		last += d.varint()
		row := x.row(p, last, h)
		for k := range x.args {
			kind, v, text := d.cell()
			if d.err != nil {
				return
			}
			x.setKind(row, k, kind)
			if hasText(kind) {
				v = uint64(h.setText(0, text))
			}
			row[1+x.kindWords()+k] = v
		}
	}
	if *p == 0 {
		*p = uint64(h.alloc(2))
	}
	h.block(handle(*p))[1] += left
}

// cell reads a value that may be null or missing.
func (d *decoder) cell() (k batch.Kind, v uint64, text []byte) {
	if len(d.p) > 0 && batch.Kind(d.p[0]) <= batch.Null {
		return batch.Kind(d.byte()), 0, nil
	}
	return d.value()
}

func (x *rowsAcc) release(mem []uint64, at uint32, h *Heap) {
	b := handle(mem[at+x.slot.word])
	if b == 0 {
		return
	}
	w := h.block(b)
	for i := range int(w[0]) {
		x.releaseRow(x.at(w, i), h)
	}
	h.release(b)
}

// maxArena is how much text a batch can refer to.
const maxArena = math.MaxInt32

// results writes the rows as encode does, as the bytes of a text cell. Where the batch could not refer to so much, it says that all are left out.
func (x *rowsAcc) results(b *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap) {
	for i, e := range at {
		off := len(b.Extra)
		b.Extra = x.encode(b.Extra, mem, e, h)
		if len(b.Extra) > maxArena {
			left := uint64(1)
			if bl := handle(mem[e+x.slot.word]); bl != 0 {
				w := h.block(bl)
				left = w[0] + w[1]
			}
			b.Extra = append(b.Extra[:off], 0)
			b.Extra = binary.AppendUvarint(b.Extra, left)
		}
		cols[0].Set(row+i, batch.String, batch.ExtraRef(off, len(b.Extra)-off))
	}
}

// CountRows reads the head of a cell that RowsFunc has made: how many rows it holds, and how many are left out.
func CountRows(cell []byte) (rows int, left uint64, err error) {
	d := &decoder{p: cell}
	n := d.uvarint()
	left = d.uvarint()
	return int(n), left, d.err
}

// UnpackRows appends the rows of a cell that RowsFunc has made to b, whose columns are those of Spec.Args in order.
func UnpackRows(cell []byte, b *batch.Batch) error {
	d := &decoder{p: cell}
	n := d.count(1 + len(b.Columns))
	d.uvarint()
	row := b.Grow(n)
	last := int64(0)
	for ; row < b.N && d.err == nil; row++ {
		last += d.varint()
		b.Times[row] = last
		for i := range b.Columns {
			k, v, text := d.cell()
			if hasText(k) {
				v = batch.ExtraRef(len(b.Extra), len(text))
				b.Extra = append(b.Extra, text...)
			}
			b.Columns[i].Set(row, k, v)
		}
	}
	if d.err == nil && len(d.p) > 0 {
		d.fail("%d bytes behind the last row", len(d.p))
	}
	if d.err != nil {
		return fmt.Errorf("rows of a window: %w", d.err)
	}
	return nil
}
