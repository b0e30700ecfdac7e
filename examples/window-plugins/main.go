// Command tidemark-plugins-trades serves two plugins that work on whole windows: the aggregate "vwap", the mean price of trades weighted by
// their size, and the window function "runs", how long and how far the price rises without a step back.
package main

import (
	"iter"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Trade is what the aggregate sees of a record.
type Trade struct {
	Price float64 `tidemark:"price,required"`
	Size  float64 `tidemark:"size,required"`
}

// Volume is the accumulator; its zero value is an empty window.
type Volume struct{ money, size float64 }

// VWAP is the aggregate.
type VWAP struct{}

// Add takes in a trade.
func (VWAP) Add(acc *Volume, t Trade, _ int64) {
	acc.money += t.Price * t.Size
	acc.size += t.Size
}

// Merge takes in the trades of a later part of the window.
func (VWAP) Merge(acc, other *Volume) {
	acc.money += other.money
	acc.size += other.size
}

// Result is the mean, or null for a window without volume.
func (VWAP) Result(acc *Volume) (*float64, error) {
	if acc.size == 0 {
		return nil, nil
	}
	mean := acc.money / acc.size
	return &mean, nil
}

// Price is what the window function sees of a record.
type Price struct {
	Price float64 `tidemark:"price,required"`
}

// Run is a row of its result: trades one after the other, each higher than the one before.
type Run struct {
	From   int64   `tidemark:"from"` // ms behind the window's start
	Trades int64   `tidemark:"trades"`
	Change float64 `tidemark:"change"`
}

// RunsConfig are the options of "runs".
type RunsConfig struct {
	AtLeast int64 `name:"at_least" default:"3" help:"how many trades make a run"`
}

// Runs is the window function.
type Runs struct{ RunsConfig }

// Process goes through the window once.
func (r Runs) Process(w sdk.Window, records iter.Seq2[int64, Price], emit func(Run)) error {
	var run Run
	var first, last float64
	end := func() {
		if run.Trades >= r.AtLeast {
			run.Change = last - first
			emit(run)
		}
	}
	for at, t := range records {
		if run.Trades == 0 || t.Price <= last {
			end()
			run, first = Run{From: at - w.Start}, t.Price
		}
		run.Trades++
		last = t.Price
	}
	end()
	return nil
}

func vwap() sdk.Plugin {
	return sdk.NewAggregate("vwap", "the mean price of trades, weighted by their size",
		func(struct{}) (sdk.Aggregate[Trade, Volume, *float64], error) { return VWAP{}, nil })
}

func runs() sdk.Plugin {
	return sdk.NewWindowFunction("runs", "rises without a step back",
		func(c RunsConfig) (sdk.WindowFunction[Price, Run], error) { return Runs{c}, nil })
}

func main() { sdk.Serve(vwap(), runs()) }
