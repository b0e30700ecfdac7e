package window

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// JoinSpec describes an interval join (14): rows of two inputs with the same key are a pair when the right one lies between Lower and
// Upper from the left one, both included: left + Lower <= right <= left + Upper. An exclusive bound is an inclusive one a millisecond
// further in.
type JoinSpec struct {
	Lower, Upper int64 // ms, Lower <= Upper; either may be negative
	Left, Right  []JoinColumn
}

// JoinColumn is a column of an input that results carry.
type JoinColumn struct {
	Column string // of the input's batches; a batch without it gives nulls
	As     string // in the results
}

// Side is an input of a join.
type Side uint8

const (
	LeftSide Side = iota
	RightSide
)

func (s Side) String() string { return [...]string{"left", "right"}[s] }

// Check returns what is wrong with s; the fields are lower and upper.
func (s JoinSpec) Check() []Mistake {
	if s.Lower > s.Upper {
		return []Mistake{{"lower", fmt.Sprintf("%s is above upper, %s, so there are no pairs", ms(s.Lower), ms(s.Upper)), "exchange them"}}
	}
	return nil
}

// IntervalJoin is one shard of an interval join. Each row is paired on arrival with what is buffered of the other side, so a pair
// comes out with the later arrival of the two, in the order (time, arrival) of its partners. The time of a pair is the larger of the
// two.
//
// A row is late when it lies strictly below the watermark, which is that of both inputs combined: Output.Late. It is kept until no
// partner that is not late can come: a left one until the watermark reaches its time + max(0, Upper), a right one until its time +
// max(0, -Lower). (Flink's edge is kept: a row at the watermark itself is taken, though a partner may have gone with that watermark.)
//
// Like an [Operator] it belongs to one goroutine, and what a call emits is in the Output when it returns.
type IntervalJoin struct {
	spec  JoinSpec
	names []string
	keys  int
	out   *Output

	sides     [2]joinSide
	watermark int64
	arrivals  uint64 // number of the next row, which orders rows of one key and time

	removed  joinRemovals
	expired  []timer
	cells    []byte
	keyCols  []*batch.Column
	sideCols [2][]*batch.Column
}

// NewIntervalJoin makes one shard. The error joins the mistakes of [JoinSpec.Check].
func NewIntervalJoin(spec JoinSpec, env Env, out *Output) (*IntervalJoin, error) {
	if mistakes := spec.Check(); len(mistakes) > 0 {
		return nil, mistakes[0]
	}
	j := &IntervalJoin{spec: spec, keys: len(env.KeyFields), out: out, watermark: math.MinInt64}
	j.names = append(j.names, env.KeyFields...)
	for s, columns := range [2][]JoinColumn{spec.Left, spec.Right} {
		j.sides[s].columns = columns
		j.sides[s].timers = newTimers()
		for _, c := range columns {
			j.names = append(j.names, c.As)
		}
	}
	j.sides[LeftSide].keep = max(0, spec.Upper)
	j.sides[RightSide].keep = max(0, subSaturating(0, spec.Lower))
	return j, nil
}

// Columns are the columns of the results: the key fields, the left columns, the right ones.
func (j *IntervalJoin) Columns() []string { return j.names }

// Live is the number of buffered rows.
func (j *IntervalJoin) Live() int { return j.sides[0].live + j.sides[1].live }

// Buffered is the number of buffered rows of one side.
func (j *IntervalJoin) Buffered(s Side) int { return j.sides[s].live }

// Process takes rows of one side in arrival order and pairs them with the other side's.
func (j *IntervalJoin) Process(side Side, rows Rows) {
	j.open()
	own, other := &j.sides[side], &j.sides[1-side]
	own.source = own.source[:0]
	for _, c := range own.columns {
		own.source = append(own.source, rows.Batch.Column(c.Column))
	}
	for _, row := range rows.Index {
		ts := int64(batch.NoTimestamp)
		if rows.Batch.Times != nil {
			ts = rows.Batch.Times[row]
		}
		if ts < j.watermark {
			j.out.Late = append(j.out.Late, row)
			continue
		}
		hash, tag, key := rows.Keys.Hash[row], rows.Keys.Tag[row], rows.Keys.Bytes(int(row))
		i := own.add(ts, j.arrivals, hash, tag, key, j.encode(own, rows.Batch, int(row)))
		j.arrivals++
		if k := other.table.find(hash, tag, key); k != noKey {
			low, high := addSaturating(ts, j.spec.Lower), addSaturating(ts, j.spec.Upper)
			if side == RightSide {
				low, high = subSaturating(ts, j.spec.Upper), subSaturating(ts, j.spec.Lower)
			}
			j.pairs(side, row, i, other.between(k, low, high))
		}
	}
}

// pairs emits row i of a side with partners of the other.
func (j *IntervalJoin) pairs(side Side, place, i uint32, partners []uint32) {
	if len(partners) == 0 {
		return
	}
	own, other := &j.sides[side], &j.sides[1-side]
	r := own.rows[i]
	b := j.out.Results
	first := b.Grow(len(partners))
	for n, p := range partners {
		at := first + n
		partner := &other.rows[p]
		b.Times[at] = max(r.ts, partner.ts)
		j.decode(own.table.records[r.key].tag, own.table.key(r.key), b, j.keyCols, at)
		j.decode(rowkey.Composite, own.blobs.get(r.cells), b, j.sideCols[side], at)
		j.decode(rowkey.Composite, other.blobs.get(partner.cells), b, j.sideCols[1-side], at)
	}
	j.out.Segments = append(j.out.Segments, Segment{Place: place, From: uint32(first), To: uint32(b.N)})
}

func (j *IntervalJoin) decode(tag uint8, payload []byte, b *batch.Batch, cols []*batch.Column, row int) {
	if err := rowkey.Decode(tag, payload, b, cols, row); err != nil {
		panic("window: what a join has buffered does not decode: " + err.Error())
	}
}

// open looks at the Output afresh, see [Output].
func (j *IntervalJoin) open() {
	if j.out.Results == nil {
		j.out.Results = batch.Get()
	}
	b := j.out.Results
	if b.N == 0 {
		b.Columns = b.Columns[:0]
		for _, name := range j.names {
			b.AddColumn(name)
		}
	}
	next := 0
	point := func(cols []*batch.Column, n int) []*batch.Column {
		cols = cols[:0]
		for range n {
			cols = append(cols, &b.Columns[next])
			next++
		}
		return cols
	}
	j.keyCols = point(j.keyCols, j.keys)
	for s := range j.sides {
		j.sideCols[s] = point(j.sideCols[s], len(j.sides[s].columns))
	}
}

// encode writes the cells that a row is kept with, in the form of composite keys (see package rowkey); missing ones become null.
func (j *IntervalJoin) encode(s *joinSide, b *batch.Batch, row int) []byte {
	p := j.cells[:0]
	for _, c := range s.source {
		if c == nil || c.IsNull(row) {
			p = append(p, byte(batch.Null), 0)
			continue
		}
		kind, cell := c.Kinds[row], c.Bits[row]
		p = append(p, byte(kind))
		switch kind {
		case batch.String, batch.JSON:
			text := b.Text(cell)
			p = binary.AppendUvarint(p, uint64(len(text)))
			p = append(p, text...)
		case batch.Bool:
			p = append(p, 1, byte(cell))
		default:
			p = append(p, 8)
			p = binary.LittleEndian.AppendUint64(p, cell)
		}
	}
	j.cells = p
	return p
}

// AdvanceWatermark forgets what finds no partner any more. It takes the combined watermark of both inputs; one that does not rise is
// ignored.
func (j *IntervalJoin) AdvanceWatermark(watermark int64) {
	if watermark <= j.watermark {
		return
	}
	j.watermark = watermark
	for s := range j.sides {
		side := &j.sides[s]
		if !side.timers.isDue(watermark) {
			continue
		}
		j.expired = side.timers.take(watermark, j.expired[:0])
		for _, t := range j.expired {
			r := &side.rows[t.entry]
			if r.gen != t.gen || r.flags&inUse == 0 {
				continue
			}
			if r.flags&isStored != 0 {
				j.unstore(Side(s), r)
			}
			side.remove(t.entry)
		}
	}
}
