package sdk

import (
	"context"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Sink carries results out. All calls come one at a time.
type Sink interface {
	// Write delivers rows. When it returns nil the rows are taken: on disk, acknowledged by the other side, or whatever the sink's
	// delivery says. When it returns an error the same rows come again after a pause, in the same batch or in others, unless the
	// error is a [Permanent] or a [RowsRefused] one. Nothing may keep the batch after the return.
	Write(ctx context.Context, rows Rows) error
	// Close ends the sink; rows that Write has taken are safe when it returns.
	Close() error
}

// Rows is a run of numbered result rows.
type Rows struct {
	// First is the number of the first row; the i-th has First+i. Numbers start at 1, never skip, and a row keeps its number when it
	// comes again, in this run of the pipeline or in a later one.
	First uint64
	// Batch holds the rows: for a text sink, each one's formatted text in Data and Offsets, its line end included (Trailer bytes);
	// otherwise Columns. Sel is nil. It is read-only.
	Batch *batch.Batch
}

// Len is the number of rows.
func (r Rows) Len() int { return r.Batch.N }

// Resumer is a transactional [Sink]: it stores the number of the last row together with the rows.
type Resumer interface {
	// LastDelivered returns the number of the last row that was taken by this sink for this component, 0 for none. It is called
	// once, before the first Write; delivery goes on behind it.
	LastDelivered(ctx context.Context) (uint64, error)
}

// SinkTraits is what a sink promises and wants.
type SinkTraits struct {
	Delivery Delivery // what it can do; Transactional asks for [Resumer]
	Text     bool     // wants formatted rows instead of columns
}

// Permanent marks an error of Write as one that giving the same rows again will not mend: the pipeline ends at its last commit, and its
// [restart] rule says whether and when it begins again from there.
func Permanent(err error) error { return &permanentError{err} }

// RetryAfter marks an error of Write as one that is worth trying again after d.
func RetryAfter(d time.Duration, err error) error { return &retryError{d, err} }

// RowsRefused is an error of Write: these rows (numbers within the delivery, ascending) will never be taken, all others were. They go
// to the dead letters.
type RowsRefused struct{ Rows []batch.BadRow }

// NewSink makes a plugin. newSink is called once for each run, with the decoded options.
func NewSink[C any](name, summary string, traits SinkTraits, newSink func(ctx context.Context, config C) (Sink, error), about ...About) Plugin {
	return newSinkPlugin(name, summary, traits, about, newSink)
}
