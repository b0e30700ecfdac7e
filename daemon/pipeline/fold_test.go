package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
)

// bid is a record of the windows below.
type bid struct {
	Price int64 `tidemark:"price,required"`
	Size  int64 `tidemark:"size"`
}

// order is an aggregate whose result shows every record of the window in the order that they are given.
type order struct{ sep string }

func (o order) Add(acc *[]string, b bid, at int64) {
	*acc = append(*acc, fmt.Sprintf("%d*%d@%d", b.Price, b.Size, at/1000))
}
func (o order) Merge(acc, other *[]string) { *acc = append(*acc, *other...) }
func (o order) Result(acc *[]string) (string, error) {
	if len(*acc) == 13 {
		return "", errors.New("thirteen is too unlucky")
	}
	return strings.Join(*acc, o.sep), nil
}

func orderPlugin() sdk.Plugin {
	type options struct {
		Sep string `name:"sep" default:" " help:"what stands between two records"`
	}
	return sdk.NewAggregate("order", "shows records", func(o options) (sdk.Aggregate[bid, []string, string], error) { return order{o.Sep}, nil })
}

// rises is a window function: a row for each record that is higher than all before it.
type rises struct{}

type rise struct {
	At    int64 `tidemark:"at"`
	Price int64 `tidemark:"price"`
	N     int64 `tidemark:"events"` // takes the place of the aggregate's column
}

func (rises) Process(w sdk.Window, records iter.Seq2[int64, bid], emit func(rise)) error {
	high := int64(-1)
	n, _ := w.Values.Int("events")
	for at, b := range records {
		if b.Price > high {
			high = b.Price
			emit(rise{at - w.Start, high, 100 * n})
		}
	}
	return nil
}

func risesPlugin() sdk.Plugin {
	return sdk.NewWindowFunction("rises", "new maxima", func(struct{}) (sdk.WindowFunction[bid, rise], error) { return rises{}, nil })
}

// bids are lines out of order, of three keys; a few are too late for some windows.
func bids() []string {
	var lines []string
	for i := range 400 {
		ts := i + []int{0, -3, 2, -7, 1, -25}[i%6]
		price := fmt.Sprint(i * 7 % 23)
		if i%11 == 5 {
			price = ""
		}
		lines = append(lines, fmt.Sprintf("%s,%s,%d,%d", []string{"a", "b", "c"}[i%3], price, i%5, max(ts, 0)))
	}
	return lines
}

// folded is a pipeline over bids with the window's settings and an output for results and one for what is refused.
func folded(file string, rows int, window string) string {
	return fmt.Sprintf(`
[pipeline]
batch_rows = %d
[sources.s]
plugin = "file"
path = %q
decode = { format = "csv", header = false, fields = ["user", "price:int", "size:int", "ts:int"] }
[sources.s.time]
timestamp = "ts"
unit = "s"
max_out_of_orderness = "5s"
[transforms.w]
type = "window"
inputs = ["s"]
key_by = ["user"]
%s
[sinks.out]
plugin = "capture"
inputs = ["w"]
time_format = "epoch_ms"
[sinks.refused]
plugin = "capture"
as = "refused"
inputs = ["w.errors"]
columns = ["reason", "message", "component", "raw"]
[checkpoint]
interval = "2ms"
min_interval = "0s"
[restart]
backoff = "1ms"
`, rows, file, window)
}

func TestAnAggregateAndAWindowFunctionOfPlugins(t *testing.T) {
	r := newRig(t, orderPlugin(), risesPlugin())
	text := folded(r.file("in", "a,5,1,0", "a,9,2,4", "b,1,1,1", "a,7,3,2", "a,,4,3", "b,2,2,12", "a,3,1,40"), 100, `
window = { type = "tumbling", size = "10s" }
[transforms.w.aggregate]
events = "count()"
all    = { plugin = "order", sep = "|", isolation = "none" }
rest   = { plugin = "order", args = ["price + 1", "0"], isolation = "none" }
[transforms.w.function]
plugin = "rises"
isolation = "none"
`)
	rows, _ := r.run(text)
	require.Equal(t, []string{
		`{"user":"b","window_start":0,"window_end":10000,"all":"1*1@1","rest":"2*0@1","at":1000,"price":1,"events":100}`,
		`{"user":"a","window_start":0,"window_end":10000,"all":"5*1@0|7*3@2|9*2@4","rest":"6*0@0 8*0@2 10*0@4","at":0,"price":5,"events":400}`,
		`{"user":"a","window_start":0,"window_end":10000,"all":"5*1@0|7*3@2|9*2@4","rest":"6*0@0 8*0@2 10*0@4","at":2000,"price":7,"events":400}`,
		`{"user":"a","window_start":0,"window_end":10000,"all":"5*1@0|7*3@2|9*2@4","rest":"6*0@0 8*0@2 10*0@4","at":4000,"price":9,"events":400}`,
		`{"user":"b","window_start":10000,"window_end":20000,"all":"2*2@12","rest":"3*0@12","at":2000,"price":2,"events":100}`,
		`{"user":"a","window_start":40000,"window_end":50000,"all":"3*1@40","rest":"4*0@40","at":0,"price":3,"events":100}`,
	}, rows)
	require.Empty(t, r.got("refused"))
}

// Whatever windows there are, results are the same for every batch size and number of shards, and after failures and restarts.
func TestPluginsOfWindowsGiveTheSameWhateverHappens(t *testing.T) {
	const both = `
[transforms.w.aggregate]
all = { plugin = "order", isolation = "none" }
n = "count()"
[transforms.w.function]
plugin = "rises"
args = ["price * 2"]
isolation = "none"
`
	for name, window := range map[string]string{
		"tumbling with late results": `window = { type = "tumbling", size = "20s" }
allowed_lateness = "15s"
meta = true`,
		"sliding": `window = { type = "sliding", size = "30s", slide = "5s" }`,
		"sessions that are taken back": `window = { type = "session", gap = "4s" }
allowed_lateness = "30s"
mode = "retracting"`,
		"discarding, with early results": `window = { type = "tumbling", size = "40s" }
early = { every = "10s" }
mode = "discarding"`,
		"cumulative": `window = { type = "cumulative", size = "60s", step = "10s" }`,
		"a global window by count": `window = { type = "global" }
trigger = { type = "count", count = 10, purge = true }`,
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for i, c := range []struct{ size, rows, failAt int }{{1, 1000, 0}, {1, 1, 0}, {3, 7, 0}, {2, 50, 20}, {4, 13, 90}} {
				r := newRig(t, orderPlugin(), risesPlugin())
				r.size, r.failAt = c.size, c.failAt
				p := r.pipeline(folded(r.file("in", bids()...), c.rows, window+both))
				require.NoError(t, p.Run(context.Background()))
				require.Equal(t, pipeline.Finished, p.State())
				s := p.Summary()
				require.NoError(t, s.Check())
				got := r.got("out")
				if i == 0 {
					want = got
					require.Greater(t, len(got), 50)
					continue
				}
				require.Equal(t, want, got, "%+v", c)
			}
		})
	}
}

func TestAWindowWithTooManyRecordsAndOneThatIsRefused(t *testing.T) {
	r := newRig(t, orderPlugin())
	var lines []string
	for user, n := range map[string]int{"a": 12, "b": 13, "c": 15} {
		for i := range n {
			lines = append(lines, fmt.Sprintf("%s,%d,1,%d", user, i, i))
		}
	}
	rows, s := r.run(folded(r.file("in", lines...), 5, `
window = { type = "tumbling", size = "1h" }
allowed_lateness = "1h"
[transforms.w.aggregate]
all = { plugin = "order", max_records = 14, isolation = "none" }
`))
	require.Len(t, rows, 1)
	require.Contains(t, rows[0], `"user":"a"`)
	require.ElementsMatch(t, []string{
		`{"reason":"refused","message":"thirteen is too unlucky","component":"w","raw":"{\"user\":\"b\",\"window_start\":\"1970-01-01T00:00:00.000Z\",\"window_end\":\"1970-01-01T01:00:00.000Z\"}"}`,
		`{"reason":"too_many_records","message":"the window has 15 records, and 14 are kept for the aggregate \"all\"; raise max_records, or make the windows or the keys smaller","component":"w","raw":"{\"user\":\"c\",\"window_start\":\"1970-01-01T00:00:00.000Z\",\"window_end\":\"1970-01-01T01:00:00.000Z\"}"}`,
	}, r.got("refused"))
	require.NoError(t, s.Check())
	require.EqualValues(t, 1, s.Results, "a window that is refused has none")
}
