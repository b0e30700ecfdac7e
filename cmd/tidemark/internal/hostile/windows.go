package main

import (
	"fmt"
	"iter"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Numbered is what the plugins for windows see of a record.
type Numbered struct {
	ID int64 `tidemark:"id,required"`
}

// Order remembers in which order records came: any other order gives another value.
type Order struct {
	N      int64
	Digest uint64
	Power  uint64 // factor to the power of N
}

const factor = 1_000_003

func (o *Order) add(id int64) {
	if o.N == 0 {
		o.Power = 1
	}
	o.N++
	o.Digest = o.Digest*factor + uint64(id) + 1
	o.Power *= factor
}

func (o *Order) text() string { return fmt.Sprintf("%d-%016x", o.N, o.Digest) }

type aggregate struct{ misbehaviour }

func (a aggregate) Add(acc *Order, r Numbered, _ int64) {
	a.event(Event{ID: r.ID})
	acc.add(r.ID)
}

func (a aggregate) Merge(acc, other *Order) {
	switch {
	case other.N == 0:
	case acc.N == 0:
		*acc = *other
	default:
		*acc = Order{acc.N + other.N, acc.Digest*other.Power + other.Digest, acc.Power * other.Power}
	}
}

func (a aggregate) Result(acc *Order) (string, error) { return acc.text(), nil }

func newAggregate() sdk.Plugin {
	return sdk.NewAggregate("hostile", "in which order records came, until it misbehaves",
		func(c misbehaviour) (sdk.Aggregate[Numbered, Order, string], error) { return aggregate{c}, nil })
}

// Stay is what the window function gives: a row for the first half of the records, and one for all of them.
type Stay struct {
	Row   string `tidemark:"row"`
	Order string `tidemark:"order"`
	First int64  `tidemark:"first"` // ms behind the window's start
}

type function struct{ misbehaviour }

func (f function) Process(w sdk.Window, records iter.Seq2[int64, Numbered], emit func(Stay)) error {
	var all, half Order
	n, first := 0, int64(-1)
	for range records {
		n++
	}
	for at, r := range records {
		f.event(Event{ID: r.ID})
		if first < 0 {
			first = at - w.Start
		}
		if all.add(r.ID); all.N <= int64(n/2) {
			half = all
		}
	}
	emit(Stay{"half", half.text(), first})
	emit(Stay{"all", all.text(), first})
	return nil
}

func newWindowFunction() sdk.Plugin {
	return sdk.NewWindowFunction("hostile", "in which order records came, until it misbehaves",
		func(c misbehaviour) (sdk.WindowFunction[Numbered, Stay], error) { return function{c}, nil })
}
