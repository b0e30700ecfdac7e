package sdk

// Aggregate folds the records of a window into one value, as AggregateFunction does in Flink. Acc is the accumulator; its zero value is the
// empty one, so that maps in it are made when they are first needed. In is a struct with tidemark tags or [Record]; Out is a bool, a number,
// a string, a time.Time, a pointer to one of them (nil gives null), or anything that encoding/json can write.
//
// An Aggregate is its options and nothing else: what it gives must depend on the records alone, since the daemon asks again when a window
// fires again, after a restart, and to take a result back. Its methods may be called by several goroutines at the same time, for
// different accumulators.
//
// The records of a window come by event time and then by arrival. Long windows are folded in runs of [FoldRun] records, on as many cores as
// there are, and the runs are merged in order. So Merge(Add(Add(zero, a), b), Add(zero, c)) has to be as good as Add of a, b and c.
type Aggregate[In, Acc, Out any] interface {
	// Add takes one record into acc. timestamp is its event time. A record that lacks a required field, or has a value of another type in
	// one, is left out, as aggregates leave out nulls; how many is counted (records_left_out_total).
	Add(acc *Acc, in In, timestamp int64)
	// Merge takes into acc what other has, whose records all come behind those of acc. other is not used afterwards.
	Merge(acc, other *Acc)
	// Result is the value of a window. An error refuses it: the result goes to the errors port with the error's text.
	Result(acc *Acc) (Out, error)
}

// FoldRun is how many records are folded into one accumulator before another one is begun, see [Aggregate].
const FoldRun = 4096

// NewAggregate makes a plugin. newAggregate is called once for each run, with the decoded options.
func NewAggregate[In, Acc, Out, C any](name, summary string, newAggregate func(config C) (Aggregate[In, Acc, Out], error), about ...About) Plugin {
	return newAggregatePlugin(name, summary, about, newAggregate)
}
