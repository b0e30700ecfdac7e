package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A window with plugins is one step in the file and several in the plan; who reads it reads the last one, and its errors are those of all.
func TestPluginsOfAWindowAreStepsBehindIt(t *testing.T) {
	p, problems := build(t, "f.toml", `
[sources.trades]
plugin = "ticks"
[sources.trades.time]
timestamp = "at"
unit = "ms"
[transforms.w]
type     = "window"
inputs   = ["trades"]
key_by   = ["user"]
window   = { type = "tumbling", size = "5s" }
function = { plugin = "stays", args = ["upper(user)"], max_records = 50 }
[transforms.w.aggregate]
events = "count()"
price  = { plugin = "vwap", args = ["value * 2"], when = "value > 1" }
[transforms.big]
type   = "filter"
inputs = ["w"]
where  = "price > 100 and seconds > 5"
[sinks.out]
plugin = "stdout"
inputs = ["big"]
[sinks.refused]
plugin = "stdout"
inputs = ["w.errors"]
`)
	require.Empty(t, problems)
	var names []string
	for _, s := range p.Steps {
		names = append(names, s.Name)
	}
	require.Equal(t, []string{"w", "w~price", "w~stays", "big"}, names)
	require.Equal(t, 2, p.Transforms())
	price, stays, big := p.Step("w~price"), p.Step("w~stays"), p.Step("big")
	require.Equal(t, []string{"price", "when"}, price.Fold.Fields, "the size is optional, and the records have none")
	require.Equal(t, []string{"page"}, stays.Fold.Fields)
	require.Equal(t, []string{"user", "window_start", "window_end", "events", "price"}, stays.Fold.Columns)
	require.Equal(t, 50, stays.Fold.Limit)
	require.Equal(t, "w~stays", big.Inputs[0].From)
	require.Equal(t, "user:string, window_start:timestamp, window_end:timestamp, events:int, price:float, page:string, seconds:float", big.Inputs[0].Shape.String())
	require.Equal(t, "w", stays.Component())
	require.Equal(t, []string{"at", "user", "value"}, p.Source("trades").Fields)
	require.Contains(t, p.String(), "errors: to refused")
	for _, part := range p.Footprint().Components {
		if part.Name == "w" {
			require.Equal(t, "events = count(); price = rows(value * 2, price:when); function = rows(upper(user), 50)", part.Rigid["aggregate"])
		}
	}
}
