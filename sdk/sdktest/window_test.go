package sdktest_test

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

type reading struct {
	Value float64 `tidemark:"value,required"`
}

type spread struct{ low, high, n float64 }

// widest is how far the readings of a window lie apart. wrong says what is wrong with it.
type widest struct {
	wrong string
	calls *float64
}

func (w widest) Add(acc *spread, r reading, _ int64) {
	if acc.n == 0 {
		acc.low, acc.high = r.Value, r.Value
	}
	acc.low, acc.high, acc.n = min(acc.low, r.Value), max(acc.high, r.Value), acc.n+1
}

func (w widest) Merge(acc, other *spread) {
	switch {
	case w.wrong == "merge":
		acc.high = max(acc.high, other.high) // the lowest is forgotten
	case other.n == 0:
	case acc.n == 0:
		*acc = *other
	default:
		acc.low, acc.high, acc.n = min(acc.low, other.low), max(acc.high, other.high), acc.n+other.n
	}
}

func (w widest) Result(acc *spread) (float64, error) {
	if w.wrong == "memory" {
		*w.calls++
		return *w.calls, nil
	}
	return acc.high - acc.low, nil
}

func widestPlugin(wrong string) sdk.Plugin {
	return sdk.NewAggregate("widest", "how far the values lie apart", func(struct{}) (sdk.Aggregate[reading, spread, float64], error) {
		return widest{wrong, new(float64)}, nil
	})
}

func TestAnAggregateStepByStep(t *testing.T) {
	rows := sdktest.Fire(t, widestPlugin(""), nil,
		sdktest.Window{End: 1000, Records: []any{reading{3}, reading{10}, map[string]any{"value": nil}}},
		sdktest.Window{Start: 1000, End: 2000})
	require.Equal(t, []map[string]any{{"result": 7.0}, {"result": 0.0}}, rows)
}

func TestAGoodAggregateConforms(t *testing.T) {
	sdktest.Conforms(t, widestPlugin(""), sdktest.Settings{})
}

func TestTheKitFindsWhatIsWrongWithAggregates(t *testing.T) {
	for wrong, check := range map[string]string{"merge": "in process: merging does not show", "memory": "in process: other windows do not show"} {
		r := sdktest.Check(widestPlugin(wrong), sdktest.Settings{NoSpeed: true})
		require.NotEmpty(t, r.Findings, wrong)
		require.Equal(t, check, r.Findings[0].Check)
		require.NotEmpty(t, r.Findings[0].Hint)
	}
}

// tops gives the readings that are higher than those beside them.
type tops struct{}

type top struct {
	Value float64 `tidemark:"top"`
	After int64   `tidemark:"after_ms"`
}

func (tops) Process(w sdk.Window, records iter.Seq2[int64, reading], emit func(top)) error {
	var before, last reading
	var lastAt int64
	n := 0
	for at, r := range records {
		if n > 1 && last.Value > before.Value && last.Value > r.Value {
			emit(top{last.Value, lastAt - w.Start})
		}
		before, last, lastAt, n = last, r, at, n+1
	}
	return nil
}

func TestAWindowFunction(t *testing.T) {
	plugin := sdk.NewWindowFunction("tops", "local maxima", func(struct{}) (sdk.WindowFunction[reading, top], error) { return tops{}, nil })
	rows := sdktest.Fire(t, plugin, nil, sdktest.Window{Start: 5000, End: 6000, Values: map[string]any{"sensor": "a"},
		Records: []any{reading{1}, reading{4}, reading{2}, reading{9}, reading{8}}, Times: []int64{5000, 5100, 5200, 5300, 5400}})
	require.Equal(t, []map[string]any{{"top": 4.0, "after_ms": int64(100)}, {"top": 9.0, "after_ms": int64(300)}}, rows)
	sdktest.Conforms(t, plugin, sdktest.Settings{})
}
