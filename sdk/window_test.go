package sdk

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// trade is a record of the windows below.
type trade struct {
	Price float64 `tidemark:"price,required"`
	Size  int64   `tidemark:"size"`
}

// vwap is the mean price by volume.
type vwap struct{ noEmpty bool }

type volume struct {
	money, size float64
	trades      int
	seen        map[float64]bool
}

func (v *vwap) Add(acc *volume, t trade, _ int64) {
	if acc.seen == nil {
		acc.seen = map[float64]bool{}
	}
	acc.seen[t.Price] = true
	acc.money += t.Price * float64(t.Size)
	acc.size += float64(t.Size)
	acc.trades++
}

func (v *vwap) Merge(acc, other *volume) {
	acc.money, acc.size, acc.trades = acc.money+other.money, acc.size+other.size, acc.trades+other.trades
}

func (v *vwap) Result(acc *volume) (*float64, error) {
	if acc.size == 0 {
		if v.noEmpty {
			return nil, errors.New("no volume")
		}
		return nil, nil
	}
	mean := acc.money / acc.size
	return &mean, nil
}

type vwapConfig struct {
	NoEmpty bool `name:"no_empty" help:"refuse windows without volume"`
}

func vwapPlugin() Plugin {
	return NewAggregate("vwap", "the mean price by volume", func(c vwapConfig) (Aggregate[trade, volume, *float64], error) { return &vwap{c.NoEmpty}, nil })
}

// windowsOf makes a call: for each window its records, as price and size.
func windowsOf(windows ...[]trade) (b, records *batch.Batch, counts []uint32) {
	b, records = batch.Get(), batch.Get()
	b.N = len(windows)
	for _, name := range []string{"symbol", "window_start", "window_end"} {
		b.AddColumn(name)
	}
	key, start, end := &b.Columns[0], &b.Columns[1], &b.Columns[2]
	for i, w := range windows {
		b.SetText(key, i, batch.String, fmt.Sprintf("s%d", i))
		start.SetTime(i, int64(i)*1000)
		end.SetTime(i, int64(i+1)*1000)
		b.Times = append(b.Times, int64(i+1)*1000-1)
		counts = append(counts, uint32(len(w)))
		records.N += len(w)
	}
	records.AddColumn("price")
	records.AddColumn("size")
	price, size := &records.Columns[0], &records.Columns[1]
	row := 0
	for i, w := range windows {
		for k, t := range w {
			if t.Price < 0 {
				price.SetNull(row)
			} else {
				price.SetFloat(row, t.Price)
			}
			size.SetInt(row, t.Size)
			records.Times = append(records.Times, int64(i)*1000+int64(k))
			row++
		}
	}
	return b, records, counts
}

func fired(t *testing.T, p Plugin, options string, b, records *batch.Batch, counts []uint32, metrics *wire.Metrics) wire.TransformEvent {
	w, err := p.OpenWindows(wire.WindowsOpen{Kind: p.desc.Kind, Plugin: p.desc.Name, Options: []byte(options)}, wire.Runtime{Metrics: metrics})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Fire(b, records, counts))
	e, err := w.Recv()
	require.NoError(t, err)
	return e
}

func TestAnAggregateGivesOneValueForEachWindow(t *testing.T) {
	metrics := &wire.Metrics{}
	b, records, counts := windowsOf([]trade{{10, 1}, {20, 3}}, nil, []trade{{5, 2}, {-1, 100}})
	e := fired(t, vwapPlugin(), "{}", b, records, counts, metrics)
	require.Equal(t, []uint32{0, 1, 2}, e.Origin)
	c := e.Out.Column("result")
	require.Equal(t, []batch.Kind{batch.Float, batch.Null, batch.Float}, c.Kinds)
	require.Equal(t, 17.5, mustFloat(t, c, 0))
	require.Equal(t, 5.0, mustFloat(t, c, 2), "the record without a price is left out")
	require.Equal(t, []int64{999, 1999, 2999}, e.Out.Times)
	require.Equal(t, 1.0, metrics.Read()[0].Value, "and counted")

	b, records, counts = windowsOf(nil, []trade{{10, 1}})
	e = fired(t, vwapPlugin(), `{"no_empty": true}`, b, records, counts, nil)
	require.Equal(t, []uint32{1}, e.Origin)
	require.Equal(t, []batch.BadRow{{Row: 0, Code: "refused", Message: "no volume"}}, e.In.Bad)
}

func mustFloat(t *testing.T, c *batch.Column, i int) float64 {
	v, ok := cellFloat(c.Kinds[i], c.Bits[i])
	require.True(t, ok)
	return v
}

// concat shows the order and the cuts of a fold.
type concat struct{}

func (c *concat) Add(acc *strings.Builder, t trade, at int64) { fmt.Fprintf(acc, "%d@%d ", t.Size, at) }
func (c *concat) Merge(acc, other *strings.Builder)           { acc.WriteString("| " + other.String()) }
func (c *concat) Result(acc *strings.Builder) (string, error) { return acc.String(), nil }

func TestLongWindowsAreFoldedInRunsThatDoNotDependOnWhatElseFires(t *testing.T) {
	plugin := NewAggregate("concat", "text", func(struct{}) (Aggregate[trade, strings.Builder, string], error) { return &concat{}, nil })
	long := make([]trade, 2*FoldRun+5)
	for i := range long {
		long[i] = trade{1, int64(i)}
	}
	text := func(windows ...[]trade) string {
		b, records, counts := windowsOf(windows...)
		e := fired(t, plugin, "{}", b, records, counts, nil)
		return string(e.Out.Text(e.Out.Column("result").Bits[0]))
	}
	alone := text(long)
	require.Equal(t, 2, strings.Count(alone, "| "))
	require.True(t, strings.HasPrefix(alone, "0@0 1@1 2@2 "))
	require.Equal(t, alone, text(long, long[:3], nil, long), "others beside it change nothing")
	short := text(long[:FoldRun])
	require.NotContains(t, short, "|")
}

// gaps gives a row for each pause between two trades.
type gaps struct{ min int64 }

type gap struct {
	From  int64  `tidemark:"from"`
	Pause int64  `tidemark:"pause"`
	Of    string `tidemark:"of"`
}

func (g *gaps) Process(w Window, records iter.Seq2[int64, trade], emit func(gap)) error {
	last, n := int64(0), 0
	for at := range records {
		if n > 0 && at-last >= g.min {
			key, _ := w.Values.Text("symbol")
			emit(gap{last, at - last, key})
		}
		last = at
		n++
	}
	if n == 0 {
		return fmt.Errorf("nothing between %d and %d", w.Start, w.End)
	}
	return nil
}

func TestAWindowFunctionGivesRowsOfAWindow(t *testing.T) {
	type config struct {
		Min int64 `name:"min" default:"2" help:"shortest pause"`
	}
	plugin := NewWindowFunction("gaps", "pauses", func(c config) (WindowFunction[trade, gap], error) { return &gaps{c.Min}, nil })
	require.Equal(t, []FieldSpec{{Name: "from", Type: wire.IntCell, Required: true}, {Name: "pause", Type: wire.IntCell, Required: true}, {Name: "of", Type: wire.StringCell, Required: true}}, plugin.desc.Output)
	b, records, counts := windowsOf([]trade{{1, 1}, {1, 2}, {1, 3}}, nil, []trade{{1, 4}, {1, 5}})
	records.Times = []int64{0, 5, 6, 2000, 2002}
	b.Marks = []batch.Mark{{After: 1, Watermark: 999}, {After: 3, Watermark: 2999}}
	e := fired(t, plugin, "{}", b, records, counts, nil)
	require.Equal(t, []uint32{0, 2}, e.Origin)
	require.Equal(t, []batch.Mark{{After: 1, Watermark: 999}, {After: 2, Watermark: 2999}}, e.Out.Marks)
	require.Equal(t, "s2", string(e.Out.Text(e.Out.Column("of").Bits[1])))
	require.Equal(t, uint64(5), e.Out.Column("pause").Bits[0])
	require.Equal(t, []batch.BadRow{{Row: 1, Code: "refused", Message: "nothing between 1000 and 2000"}}, e.In.Bad)
}

func TestAWindowPluginCannotHaveTheBytesOfARecord(t *testing.T) {
	type raw struct {
		Line string `tidemark:",raw"`
	}
	require.PanicsWithValue(t, `sdk: aggregate plugin "lines": a window keeps fields of its records and not their bytes: raw cannot be had`, func() {
		NewAggregate("lines", "x", func(struct{}) (Aggregate[raw, int, int], error) { return nil, nil })
	})
}
