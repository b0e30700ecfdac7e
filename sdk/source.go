package sdk

import (
	"context"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Source brings records in. E is what it collects: []byte or string for raw records, which the pipeline's decode setting turns into
// fields, or a struct with tidemark tags (or [Record]) for records that have their fields already.
type Source[E any] interface {
	// Run collects records until the input ends (nil: the pipeline then sees the end of input), until ctx is done (return its error
	// or nil), or until something goes wrong that the source cannot mend itself (the pipeline restarts it from the last commit).
	// Goroutines that it started have ended when it returns. Run is called once.
	Run(ctx context.Context, out *SourceContext[E]) error
}

// Acker is a [Source] that wants to know what has been committed, in order to tell the other side.
type Acker interface {
	// Ack says that all records up to position (see [Partition.CollectAt]) are committed; they will not be asked for again. It is
	// called from a goroutine of its own, one call at a time, while Run runs. Calls may skip positions, and the last ones may never
	// be acknowledged.
	Ack(partition string, position []byte)
}

type (
	// Framing says how a source that reads bytes has to cut them into records.
	Framing = wire.Framing
	// RestoredPartition is a partition that the last checkpoint knew.
	RestoredPartition = wire.RestoredPartition
)

// NewSource makes a plugin. newSource is called once for each run, with the decoded options.
func NewSource[E, C any](name, summary string, newSource func(config C) (Source[E], error), about ...About) Plugin {
	return newSourcePlugin(name, summary, about, newSource)
}
