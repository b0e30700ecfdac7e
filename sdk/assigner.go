package sdk

// An assigner says what time it is in the data. There is one value for each partition of the source, made by the factory given to
// New…Assigner; all calls to it come from one goroutine, in the order of the partition's records. Calls must not block.
//
// E is what the assigner wants to see of a record: a struct whose fields have tidemark tags, or [Record]. See the package's page.

// PeriodicAssigner gives watermarks when it is asked.
type PeriodicAssigner[E any] interface {
	// ExtractTimestamp returns the event time of a record, in milliseconds since 1970 UTC. previous is the one that it has from the
	// pipeline's timestamp setting or from its source, or [NoTimestamp]. Returning [NoTimestamp] refuses the record: it goes to the
	// errors port and never moves time.
	ExtractTimestamp(event E, previous int64) int64
	// CurrentWatermark is called whenever the assigner's interval has passed (after every record if it is 0). The value is event
	// time in milliseconds: every record still to come is expected to be newer. [NoWatermark] says "none yet". A value that does
	// not rise above the last one is ignored, so returning the same again costs nothing.
	CurrentWatermark() Watermark
}

// PunctuatedAssigner decides about a watermark at each record.
type PunctuatedAssigner[E any] interface {
	// ExtractTimestamp: see PeriodicAssigner.
	ExtractTimestamp(event E, previous int64) int64
	// CheckAndGetNextWatermark is called right after ExtractTimestamp with the same record and the timestamp it gave. The watermark
	// takes effect after the record, so it never makes its own record late. It is ignored unless it rises.
	CheckAndGetNextWatermark(event E, timestamp int64) (Watermark, bool)
}

// MarkerAssigner reads watermarks from records that carry time instead of data.
type MarkerAssigner[E any] interface {
	// ExtractTimestamp: see PeriodicAssigner.
	ExtractTimestamp(event E, previous int64) int64
	// Marker is called before ExtractTimestamp. It returns true for a marker: the record's watermark takes effect at its place, and
	// the record itself goes no further (ExtractTimestamp is not called for it). A lower watermark than before is ignored.
	Marker(event E) (Watermark, bool)
}

// BatchAssigner sees many records at a time, as columns. It is for assigners whose work on a record is smaller than a call. Like the
// others it is one value for each partition. A periodic one must have CurrentWatermark as well, see [WatermarkReader].
type BatchAssigner interface {
	AssignBatch(a *Assignment)
}

// WatermarkReader is the periodic half of a [BatchAssigner].
type WatermarkReader interface {
	CurrentWatermark() Watermark
}

// Snapshotter is implemented by plugins with state that a checkpoint has to hold: assigners, transforms.
type Snapshotter interface {
	// Snapshot returns the state as of now, between two records. The slice is not changed afterwards by anybody.
	Snapshot() ([]byte, error)
	// Restore is called once, before the first record, with what an earlier Snapshot of the same partition returned.
	Restore(state []byte) error
}

// NewPeriodicAssigner makes a plugin. newAssigner is called for each partition with the decoded options.
func NewPeriodicAssigner[E, C any](name, summary string, newAssigner func(config C) (PeriodicAssigner[E], error), about ...About) Plugin {
	return newAssignerPlugin[E](name, summary, Periodic, about, func(c C) (rowAssigner[E], error) {
		a, err := newAssigner(c)
		return periodicRows[E]{a}, err
	})
}

// NewPunctuatedAssigner makes a plugin. newAssigner is called for each partition with the decoded options.
func NewPunctuatedAssigner[E, C any](name, summary string, newAssigner func(config C) (PunctuatedAssigner[E], error), about ...About) Plugin {
	return newAssignerPlugin[E](name, summary, Punctuated, about, func(c C) (rowAssigner[E], error) {
		a, err := newAssigner(c)
		return punctuatedRows[E]{a}, err
	})
}

// NewMarkerAssigner makes a plugin. newAssigner is called for each partition with the decoded options.
func NewMarkerAssigner[E, C any](name, summary string, newAssigner func(config C) (MarkerAssigner[E], error), about ...About) Plugin {
	return newAssignerPlugin[E](name, summary, Marker, about, func(c C) (rowAssigner[E], error) {
		a, err := newAssigner(c)
		return markerRows[E]{a}, err
	})
}

// NewBatchAssigner makes a plugin of that style. fields are what it reads of a record beside the columns of its options.
func NewBatchAssigner[C any](name, summary string, style Style, fields []FieldSpec, newAssigner func(config C) (BatchAssigner, error), about ...About) Plugin {
	return newBatchAssignerPlugin(name, summary, style, fields, about, newAssigner)
}
