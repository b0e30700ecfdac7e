package sdk

import "github.com/tidemark-stream/tidemark/sdk/batch"

// Transform makes other records out of records. In is a struct with tidemark tags or [Record], Out a struct with tidemark tags. One value
// serves all partitions; calls come one at a time.
type Transform[In, Out any] interface {
	// Process handles one record: it calls emit for each record that goes on, in order, or not at all. Each gets the timestamp of the
	// record it comes from. An error refuses the record: it goes to the errors port with the error's text.
	Process(in In, emit func(out Out)) error
}

// BatchTransform sees many records at a time, as columns.
type BatchTransform interface {
	// ProcessBatch reads t.In and writes t.Out and t.Origin.
	ProcessBatch(t *Transformation) error
}

// Transformation is one batch in front of a [BatchTransform]. It is valid during the call.
type Transformation struct {
	In     *batch.Batch   // all rows are alive; read-only
	Out    *batch.Batch   // empty; set N, then add the columns. Text of In is not visible in it: use SetString
	Origin []uint32       // to be appended to: for each row of Out the row of In it comes from, never falling
	Bad    []batch.BadRow // to be appended to: rows of In that are refused, ascending
}

// NewTransform makes a plugin. newTransform is called once for each run, with the decoded options.
func NewTransform[In, Out, C any](name, summary string, newTransform func(config C) (Transform[In, Out], error), about ...About) Plugin {
	return newTransformPlugin(name, summary, about, newTransform)
}

// NewBatchTransform makes a plugin. fields are what it reads of a record, output what it gives.
func NewBatchTransform[C any](name, summary string, fields, output []FieldSpec, newTransform func(config C) (BatchTransform, error), about ...About) Plugin {
	return newBatchTransformPlugin(name, summary, fields, output, about, newTransform)
}
