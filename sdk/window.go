package sdk

import "iter"

// WindowFunction makes rows of all records of a window, as ProcessWindowFunction does in Flink. In is a struct with tidemark tags or [Record],
// Out a struct with tidemark tags or [Record]. One value serves all keys; calls come one at a time.
//
// What it gives must depend on the window alone: the daemon asks again when a window fires again, after a restart, and to take a result back.
type WindowFunction[In, Out any] interface {
	// Process is called whenever a window fires. It may range over the records, which are there with their event times, by event time and
	// then by arrival, as often as it likes. It calls emit for each row of the result, in order, or not at all. Each row gets the window's key
	// fields, its bounds and the aggregates beside it; a field of Out with the name of one of them takes its place.
	//
	// A record that lacks a required field, or has a value of another type in one, is left out, and counted (records_left_out_total). An
	// error refuses the window's result: it goes to the errors port with the error's text.
	Process(w Window, records iter.Seq2[int64, In], emit func(out Out)) error
}

// Window is the window that a [WindowFunction] is called for.
type Window struct {
	// Start and End are event time in milliseconds: the window's records are at or after Start and before End. For global windows they are
	// NoTimestamp and int64(EndOfInput).
	Start, End int64
	// Values has the key fields, and the aggregates that the pipeline computes beside, by name.
	Values Record
}

// NewWindowFunction makes a plugin. newFunction is called once for each run, with the decoded options.
func NewWindowFunction[In, Out, C any](name, summary string, newFunction func(config C) (WindowFunction[In, Out], error), about ...About) Plugin {
	return newWindowPlugin(name, summary, about, newFunction)
}
