package window

import (
	"time"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Type is a kind of window.
type Type string

const (
	Tumbling   Type = "tumbling"
	Sliding    Type = "sliding"
	Session    Type = "session"
	Cumulative Type = "cumulative"
	Global     Type = "global"
)

// CalendarUnit is a length of time that depends on the calendar and the time zone.
type CalendarUnit string

const (
	Day   CalendarUnit = "d"
	Week  CalendarUnit = "w" // begins on Monday
	Month CalendarUnit = "mo"
)

// TriggerKind says when a window's contents are emitted.
type TriggerKind string

const (
	OnEventTime              TriggerKind = "event_time"                 // once, when the watermark reaches the window's max timestamp; then by late rows
	OnProcessingTime         TriggerKind = "processing_time"            // once, when the clock reaches the max timestamp
	OnCount                  TriggerKind = "count"                      // at every Count-th row of a window
	ContinuousEventTime      TriggerKind = "continuous_event_time"      // every Interval of event time, and at the end
	ContinuousProcessingTime TriggerKind = "continuous_processing_time" // every Interval of the clock, and at the end
	OnEndOfInput             TriggerKind = "end_of_stream"              // once, at the end of input
	Never                    TriggerKind = "never"
)

// Mode says what a firing after the first contains.
type Mode string

const (
	Accumulating Mode = "accumulating" // everything so far
	Discarding   Mode = "discarding"   // only what came since the last firing
	Retracting   Mode = "retracting"   // the last result again with _retract true, then everything so far
)

// Spec describes the windows of one operator. Lengths are milliseconds.
type Spec struct {
	Type           Type
	Size           int64  // tumbling, sliding, cumulative (the maximum)
	Slide          int64  // sliding: the slide; cumulative: the step
	Gap            int64  // session
	GapColumn      string // session: a column with the gap of each row in ms, instead of Gap; rows without a usable value take Gap
	MaxLength      int64  // session: a session is cut when it would grow longer; 0 = no limit
	Offset         int64
	ProcessingTime bool // windows over the clock instead of event time

	CalendarN    int // tumbling, sliding, cumulative: CalendarN units of CalendarUnit; 0 = fixed Size
	CalendarUnit CalendarUnit
	SlideN       int // instead of Slide, beside CalendarN: so many of SlideUnit. Cumulative windows of days may have fixed steps, too
	SlideUnit    CalendarUnit
	Location     *time.Location // nil = UTC; for fixed sizes it only aligns: see Align

	Lateness  int64 // allowed lateness
	LateEvery int64 // 0: a firing for each late row; else late rows are collected, and their window fires when the watermark says that everything before the next multiple of LateEvery has come (see lateFiring), at the latest when it is dropped

	Trigger  TriggerKind // "" = the default for the type: event_time, processing_time, or never for global windows
	Count    int64       // OnCount
	Interval int64       // Continuous…
	Purging  bool        // firing drops the contents (Flink's PurgingTrigger)
	Mode     Mode        // "" = accumulating
	// Early adds firings before the end to the default trigger; zero fields add none. Unlike the continuous triggers, which follow
	// Flink to the letter, a window that has not changed since it last fired does not fire early again.
	EarlyEvery           int64 // whenever the watermark says that everything before a multiple of it has come
	EarlyProcessingEvery int64 // whenever the clock passes a multiple of it
	EarlyCount           int64 // at every so many rows of a window
}

// Rows are rows for one shard of an operator, all between two marks.
type Rows struct {
	Batch *batch.Batch // Times and the columns the aggregates read
	Index []uint32     // row numbers, ascending
	Keys  *rowkey.Keys // by row number
}

// Operator is one shard of a keyed window operator. It belongs to one goroutine, reads no clock and never blocks. Results and late
// rows of a call are in the Output it was made with when the call returns.
type Operator interface {
	// Process takes rows in arrival order. Rows that are late for all their windows go to Output.Late. Late firings are emitted
	// at once, with Place = the row's number.
	Process(rows Rows)
	// AdvanceWatermark fires, in order of their ends, all windows that are due, then cleans up. A value that does not rise is ignored.
	AdvanceWatermark(watermark int64)
	// AdvanceProcessingTime tells the clock, ms. Processing-time windows and triggers run on it.
	AdvanceProcessingTime(now int64)
	// NextProcessingTime is when AdvanceProcessingTime has something to do: math.MaxInt64 = nothing.
	NextProcessingTime() int64
	// Snapshot hands to w what has changed since the last Snapshot or Restore.
	Snapshot(w StateWriter)
	// Restore takes one entry of an earlier Snapshot; all entries come before the first other call, in any order.
	Restore(time int64, hash uint64, key, value []byte) error
	// RestoreWatermark sets the watermark that the checkpoint was taken at; it fires nothing.
	RestoreWatermark(watermark int64)
	// Live is the number of (key, window) pairs with contents or trigger state that have not been cleaned up.
	Live() int
}

// StateWriter takes the changes of a checkpoint. Slices are copied before the call returns. Entries are ordered by time in the
// store, then by hash and key, so an operator puts the pane's end there and drops a whole pane with DropTime.
type StateWriter interface {
	Set(time int64, hash uint64, key, value []byte)
	// Merge adds to an entry what has come since it was written, see [Folder]. The entry need not exist, and nobody reads it for that.
	Merge(time int64, hash uint64, key, value []byte)
	Delete(time int64, hash uint64, key []byte)
	DropTime(time int64) // removes all older entries with that time; later Sets of the same checkpoint stand
}

// Timing says why a result was emitted.
type Timing uint8

const (
	OnTime Timing = iota
	Early
	Late
)

func (t Timing) String() string { return [...]string{"on_time", "early", "late"}[t] }

// Segment is a run of results that fired together: rows From..To of Output.Results, ordered by key hash, then key bytes.
// Segments of one Output ascend by (Place, At, End); merging the shards' segments by (Place, At, End, shard) gives one order that
// does not depend on the number of shards. All shards of an operator fill At alike.
type Segment struct {
	Place    uint32 // the caller's Output.Place for firings by watermark or clock; the row number for firings by a row
	At       int64  // the moment, event time or clock, that made it fire; 0 where End already gives the order (panes) or a row did it
	End      int64  // max timestamp + 1 of the windows in it; math.MaxInt64 for global windows
	From, To uint32
}

// Output collects what an operator emits between two Resets. The operator writes Results, Segments and Late; the caller sets
// Place before each call and takes everything out between calls: it may swap in other slices and another, empty Results batch
// (Columns not yet added), so operators look at the Output afresh in each call and add the result columns when Results.N is 0.
type Output struct {
	Place    uint32
	Results  *batch.Batch // columns: see Columns; Times = each window's max timestamp
	Segments []Segment
	Late     []uint32 // row numbers of the current batch that no window took and that are late
	Silent   uint64   // rows that had no window at all (slide larger than size), counted
	// Collapsed counts results of a continuous trigger that were left out because they would have repeated the result before them:
	// one advance gives at most MaxRepeats equal results of a window.
	Collapsed uint64
	// Overflow is called in the middle of a call that has more to emit than memory should hold, when Results has OverflowRows or more, and
	// every one of them in a segment. It takes out what is there, as the caller does between two calls; the segment goes on behind it. When
	// it returns false the operator emits nothing more: everything ends. nil: all results of a call stay in one piece.
	Overflow func() bool
}

// OverflowRows is about how many results of a window are emitted in one piece, where there is an Overflow.
const OverflowRows = 4096

// Env is what an operator is told beside its Spec.
type Env struct {
	KeyFields []string // names of the key columns in results
	Meta      bool     // add _watermark, _firing, _timing (and _retract in retracting mode) to the results
}
