package wire

import (
	"context"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Place says which component of which pipeline an instance works for. Sinks keep their books under it.
type Place struct {
	Pipeline  string
	Component string
	// Store names the pipeline's state store; it is random and made with the store. Row numbers mean something only within one: a sink
	// that finds books of another begins anew.
	Store string
}

// AssignerOpen starts an assigner.
type AssignerOpen struct {
	Plugin  string // the plugin's name within its executable
	Options []byte // a JSON object: what stands in the component's table, defaults filled in or not
	Place   Place

	// EveryRecord asks a periodic assigner for its watermark after every record. When it is false, only Tick asks.
	EveryRecord bool
	// Bucket and Offset coalesce marks: beside the last one of each batch only those survive that are the first in a bucket, that is,
	// for which floor((watermark+1-Offset)/Bucket) rises. 0 and 1 coalesce nothing.
	Bucket, Offset int64
}

// Assigner is a running assigner as the pipeline sees it, whether in process or not. Calls are answered in order, later, through
// Recv; up to Credits of them may be unanswered, then the next call blocks. So one goroutine calls and another one receives;
// the two sides may run at the same time, each of them must not be called by two goroutines at once.
//
// Any error is final: the instance is broken, its state is lost, and Close is all that is left to do.
type Assigner interface {
	// AddPartition makes an instance for a partition. state is a snapshot of it, or nil. It is not answered.
	AddPartition(id uint32, name string, state []byte) error
	// RemovePartition forgets it. Tick it before if its last word is wanted. It is not answered.
	RemovePartition(id uint32) error
	// Assign gives a batch away until Recv returns it. Only the selected rows are looked at: their Times as the previous timestamps
	// (nil: none of them has one) and the columns that the description asks for, by name.
	Assign(b *batch.Batch) error
	// Tick asks the instances of these partitions for their current watermark.
	Tick(partitions []uint32) error
	// Barrier asks for the state of all partitions at this place in the stream.
	Barrier(id uint64) error
	// Recv waits for the next answer. It returns io.EOF after Close.
	Recv() (AssignerEvent, error)
	// Close ends the instance; it unblocks every other call. Closing twice is harmless.
	Close() error
}

// AssignerEventKind says which fields of an AssignerEvent are set.
type AssignerEventKind uint8

const (
	Assigned AssignerEventKind = iota // answers Assign: Batch, Markers
	Ticked                            // answers Tick: Watermarks
	Snapshot                          // answers Barrier: Barrier, States
)

// AssignerEvent is an answer. Its slices are valid until the next Recv.
type AssignerEvent struct {
	Kind AssignerEventKind
	// Batch is the batch that was given to Assign. Times are set (rows that are not selected are undefined), Marks hold the proposed
	// watermarks between its rows (row numbers of the batch), and rows that the assigner refused are in Bad and not in Sel.
	Batch *batch.Batch
	// Unchanged says that the timestamps are the previous ones, all of them.
	Unchanged bool
	// Markers are rows, ascending and still selected, that carry time instead of data.
	Markers []uint32

	Watermarks []PartitionWatermark // in the order of the Tick; batch.NoWatermark where there is none
	Barrier    uint64
	States     []PartitionState
}

// PartitionWatermark is what an instance answers to a Tick.
type PartitionWatermark struct {
	Partition uint32
	Watermark int64
}

// PartitionState is the snapshot of one partition's instance.
type PartitionState struct {
	Partition uint32
	State     []byte
}

// Framing says how a source cuts bytes into records. Sources that have records of their own need not look at it.
type Framing struct {
	Format    string // "lines" (a record ends at a line feed), "csv" (line feeds within quotes do not count), "none" (the source's own)
	MaxRecord int64  // bytes; a longer record becomes a batch.Reject with code "too_long". 0 = 1 MiB
	Delimiter string // "csv": what separates columns, one byte; "" = a comma, semicolon, tab or bar
	Quote     string // "csv": what quotes a column, one byte; "" = the double quote
	Records   string // what records are decoded as: "json", "csv", ...; a source may refuse early what cannot be that
}

// SourceOpen starts a source.
type SourceOpen struct {
	Plugin   string
	Options  []byte // a JSON object
	Place    Place
	Framing  Framing
	Restored []RestoredPartition

	// Batching, with defaults for zero values: a batch is sent when it has that many rows (4096) or bytes (128 KiB), or when it has
	// waited that long (1 ms).
	BatchRows  int
	BatchBytes int
	Linger     time.Duration
}

// RestoredPartition is a partition that the last checkpoint knew.
type RestoredPartition struct {
	Name     string
	Position []byte // after the last row that was committed
	Ended    bool   // it had ended
}

// Source is a running source as the pipeline sees it. Recv is called by one goroutine; Ack, Stop and Close by any.
type Source interface {
	// Recv waits for the next event. After SourceEnded, SourceStopped or an error there is no further one: io.EOF.
	Recv() (SourceEvent, error)
	// Ack tells that everything up to this position of a partition has been committed. It does not block.
	Ack(partition uint32, position []byte) error
	// Stop asks the source to come to an end where it is. What it has sent before still comes, then SourceStopped. It does not block.
	Stop() error
	// Close ends the instance at once; it unblocks Recv. Closing twice is harmless.
	Close() error
}

// Holder is a Source that can leave single partitions alone; its description says HoldsPartitions.
type Holder interface {
	// Hold says that no more is to be read of a partition for now, because it is too far ahead of others (held), or that it goes on. What has
	// been read already still comes. Partitions begin without being held. Numbers of partitions that have ended or were never told of are
	// ignored, since the two sides do not wait for each other. It is called by one goroutine, beside Recv, and does not wait for the source.
	Hold(partition uint32, held bool) error
}

// SourceEventKind says which fields of a SourceEvent are set.
type SourceEventKind uint8

const (
	SourceBatch    SourceEventKind = iota // Partition, Batch: rows and perhaps Marks; a batch without rows carries Marks or Rejects
	PartitionAdded                        // Partition, Name: comes before the first batch of a partition
	PartitionEnded                        // Partition: nothing more comes from it; Position tells where it stands
	PartitionIdle                         // Partition: says that it has nothing to say for now
	PartitionBusy                         // Partition: takes PartitionIdle back; any batch does so too
	SourceEnded                           // the end of a bounded input
	SourceStopped                         // the answer to Stop
)

// SourceEvent is what a source says. The receiver owns Batch and releases it.
type SourceEvent struct {
	Kind      SourceEventKind
	Partition uint32 // number of the partition in this run of the source; the name is what lasts
	Name      string
	Position  []byte
	Batch     *batch.Batch
}

// SinkOpen starts a sink.
type SinkOpen struct {
	Plugin  string
	Options []byte // a JSON object
	Place   Place
}

// Sink is a running sink as the pipeline sees it. One goroutine calls it; Close may come from any.
type Sink interface {
	// LastDelivered is the number of the last row that the sink holds for certain. known is false for sinks that keep no number;
	// a sink that does but has nothing yet says 0.
	LastDelivered(ctx context.Context) (number uint64, known bool, err error)
	// Write delivers rows first, first+1, … (the selected rows of b, in order; for text sinks, the raw rows). It returns when the sink
	// has taken them as firmly as its Delivery says. After an error it may be called again with the same rows.
	// Errors are *SinkError when the sink itself has decided; others mean that it is broken. b stays the caller's.
	Write(ctx context.Context, first uint64, b *batch.Batch) error
	// Close ends it. Closing twice is harmless.
	Close() error
}

// SinkError is a sink's own verdict on a delivery.
type SinkError struct {
	Message   string
	Permanent bool           // trying again will not help
	Refused   []batch.BadRow // rows that will never be taken; the rest of the delivery was taken. Row counts within the delivery
	After     time.Duration  // when to try again, if the other side said so
}

func (e *SinkError) Error() string { return e.Message }

// TransformOpen starts a transform.
type TransformOpen struct {
	Plugin  string
	Options []byte // a JSON object
	Place   Place
}

// Transform is a running transform as the pipeline sees it. As with Assigner one goroutine calls and one receives; answers come in
// order, up to Credits calls may be unanswered, and any error is final. One instance gets all partitions.
type Transform interface {
	// Process lends a batch until Recv answers.
	Process(b *batch.Batch) error
	// Barrier asks for the state at this place in the stream.
	Barrier(id uint64) error
	// Restore sets the state of an earlier snapshot; it comes first or not at all, and is not answered.
	Restore(state []byte) error
	Recv() (TransformEvent, error)
	Close() error
}

// TransformEvent is an answer: Out for Process, State for Barrier.
type TransformEvent struct {
	In  *batch.Batch // the batch given to Process
	Out *batch.Batch // its result, owned by the receiver; Times and Marks are carried over from In, Bad rows are refused in In
	// Origin tells for each row of Out from which row of In it came, ascending.
	Origin  []uint32
	Barrier uint64
	State   []byte
}

// WindowsOpen starts an aggregate or a window function.
type WindowsOpen struct {
	Kind    Kind // KindAggregate or KindWindow
	Plugin  string
	Options []byte // a JSON object
	Place   Place
	// Columns are the columns of the windows themselves that it gets, by name: a window function's keys, bounds and aggregates.
	Columns []string
	// FoldRun, when above 0, has an aggregate of the sdk fold so many records into one accumulator before it begins another. Tests set it to
	// see whether merging shows; it does not travel.
	FoldRun int
}

// Windows is a running aggregate or window function as the pipeline sees it. As with Transform one goroutine calls and one receives,
// answers come in order, up to Credits calls may be unanswered, and any error is final. It has no state: what it answers depends on what it
// is given, and on nothing that it was given before.
type Windows interface {
	// Fire lends windows, the selected rows of b, until Recv answers. records are those of the first window, then those of the second, and so
	// on; counts says how many belong to each. records has no selection and columns named as the description asks for them.
	Fire(b, records *batch.Batch, counts []uint32) error
	// Recv waits for the next answer: In is b of Fire, Out has the columns that the plugin gives, and Origin tells for each of its rows which
	// row of In it belongs to. For an aggregate Out has the column [ResultColumn] and one row for each window that is not refused in In.
	Recv() (TransformEvent, error)
	Close() error
}

// ResultColumn is the column of an aggregate's answers.
const ResultColumn = "result"

// Credits is how many calls (or batches of a source) may be on the way. Measured: more than eight brings nothing.
const Credits = 8

// OptionError is a mistake in a plugin's options.
type OptionError struct {
	Path    []string // keys from the plugin's table down, e.g. ["tls", "cert"]; empty: the table as a whole
	Reason  OptionReason
	Message string // what is wrong, with the value: `"5" has no unit`
	Hint    string // how to mend it, or ""
}

// OptionReason says what kind of mistake it is.
type OptionReason string

const (
	UnknownOption  OptionReason = "unknown"
	WrongType      OptionReason = "type"
	WrongValue     OptionReason = "value" // right type, but not allowed by the description or by the plugin
	MissingOption  OptionReason = "missing"
	InvalidOptions OptionReason = "invalid" // said by the plugin's own check
)

// OptionErrors is a non-empty list of mistakes as an error.
type OptionErrors []OptionError

func (e OptionErrors) Error() string {
	var b strings.Builder
	for i, x := range e {
		if i > 0 {
			b.WriteString("; ")
		}
		if len(x.Path) > 0 {
			b.WriteString(strings.Join(x.Path, "."))
			b.WriteString(": ")
		}
		b.WriteString(x.Message)
	}
	return b.String()
}
