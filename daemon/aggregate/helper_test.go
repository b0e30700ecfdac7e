package aggregate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// values makes a batch with column v (and times) of the given Go values.
func values(vs ...any) *batch.Batch {
	b := batch.Get()
	b.N = len(vs)
	c := b.AddColumn("v")
	for i, v := range vs {
		setCell(b, c, i, v)
		b.Times = append(b.Times, int64(i))
	}
	return b
}

type jsonText string
type millis int64
type missing struct{}

func setCell(b *batch.Batch, c *batch.Column, i int, v any) {
	switch v := v.(type) {
	case nil:
		c.SetNull(i)
	case missing:
		c.SetMissing(i)
	case bool:
		c.SetBool(i, v)
	case int:
		c.SetInt(i, int64(v))
	case int64:
		c.SetInt(i, v)
	case uint64:
		c.SetUint(i, v)
	case float64:
		c.SetFloat(i, v)
	case string:
		b.SetText(c, i, batch.String, v)
	case jsonText:
		b.SetText(c, i, batch.JSON, string(v))
	case millis:
		c.SetTime(i, int64(v))
	default:
		panic(fmt.Sprintf("%T", v))
	}
}

// show writes a cell so that kinds can be told apart: 3, 3.0, "3", `3`.
func show(b *batch.Batch, c *batch.Column, i int) string {
	switch v := c.Bits[i]; c.Kinds[i] {
	case batch.Missing:
		return "missing"
	case batch.Null:
		return "null"
	case batch.Bool:
		return strconv.FormatBool(v != 0)
	case batch.Int:
		return strconv.FormatInt(int64(v), 10)
	case batch.Uint:
		return strconv.FormatUint(v, 10) + "u"
	case batch.Float:
		s := strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
		if !strings.ContainsAny(s, ".eIN") {
			s += ".0"
		}
		return s
	case batch.String:
		return strconv.Quote(string(b.Text(v)))
	case batch.JSON:
		return "`" + string(b.Text(v)) + "`"
	case batch.Time:
		return "@" + strconv.FormatInt(int64(v), 10)
	}
	return "?"
}

// table is a little table of entries as the engines have them.
type table struct {
	l      *Layout
	stride int
	mem    []uint64
	heap   Heap
}

func newTable(t testing.TB, entries int, specs ...Spec) *table {
	l, err := New(specs)
	require.NoError(t, err)
	// A header word lends its upper 32 bits, as in the pane tables.
	l = l.Place(Placement{First: 3, FlagWord: 0, FlagShift: 32, FlagBits: 32})
	stride := 3 + l.Words()
	x := &table{l: l, stride: stride, mem: make([]uint64, stride*entries)}
	for i := 0; i < len(x.mem); i += stride {
		x.mem[i], x.mem[i+1], x.mem[i+2] = 0xdeadbeef, 1, 2 // the owner's words must survive
	}
	return x
}

func (x *table) at(entry int) uint32 { return uint32(entry * x.stride) }

// add folds all rows of b into one entry.
func (x *table) add(entry int, b *batch.Batch) {
	x.l.Bind(b)
	var at, rows []uint32
	for i := range b.N {
		at, rows = append(at, x.at(entry)), append(rows, uint32(i))
	}
	x.l.Add(x.mem, at, rows, &x.heap)
}

func (x *table) merge(dst int, o *table, src int) {
	x.l.Merge(x.mem, []uint32{x.at(dst)}, &x.heap, o.mem, []uint32{o.at(src)}, &o.heap)
}

func (x *table) result(entry int) []string {
	b := batch.Get()
	b.N = 1
	for _, c := range x.l.Columns() {
		b.AddColumn(c)
	}
	x.l.Results(b, 0, 0, x.mem, []uint32{x.at(entry)}, &x.heap)
	var out []string
	for i := range b.Columns {
		out = append(out, show(b, &b.Columns[i], 0))
	}
	return out
}

func (x *table) encode(entry int) []byte {
	return x.l.Encode(nil, x.mem, x.at(entry), &x.heap)
}

func (x *table) decode(t require.TestingT, entry int, p []byte) {
	rest, err := x.l.Decode(p, x.mem, x.at(entry), &x.heap)
	require.NoError(t, err)
	require.Empty(t, rest)
}

func one(f string) Spec { return Spec{Name: "r", Func: f, Arg: "v"} }

// run is the result of one aggregate over values.
func run(t testing.TB, s Spec, vs ...any) string {
	x := newTable(t, 1, s)
	x.add(0, values(vs...))
	return x.result(0)[0]
}
