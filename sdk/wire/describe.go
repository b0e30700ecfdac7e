package wire

// Kind says what a plugin does.
type Kind string

const (
	KindSource    Kind = "source"
	KindAssigner  Kind = "assigner"
	KindTransform Kind = "transform"
	KindAggregate Kind = "aggregate" // folds the records of a window into one value
	KindWindow    Kind = "window"    // makes rows of all records of a window
	KindSink      Kind = "sink"
)

// Kinds lists the kinds in the order of the data.
func Kinds() []Kind {
	return []Kind{KindSource, KindAssigner, KindTransform, KindAggregate, KindWindow, KindSink}
}

// OfWindows is true for the kinds that work on whole windows.
func (k Kind) OfWindows() bool { return k == KindAggregate || k == KindWindow }

// Style says how an assigner decides on watermarks.
type Style string

const (
	Periodic   Style = "periodic"   // asked again and again: after every record, or on a timer
	Punctuated Style = "punctuated" // decides at each record
	Marker     Style = "marker"     // reads watermarks from records that carry time instead of data
)

// Delivery says what a sink can promise. A sink that can do more can do less.
type Delivery string

const (
	AtLeastOnce   Delivery = "at_least_once" // after a failure rows may come again
	Idempotent    Delivery = "idempotent"    // rows come again, but a row that came twice has the effect of one
	Transactional Delivery = "transactional" // keeps the number of the last row together with the rows
)

// Description is all that is known about a plugin without running it. It is plain data: it prints, compares and travels as JSON.
type Description struct {
	Kind    Kind   `json:"kind"`
	Name    string `json:"name"`    // lower case, words joined by "_"; unique within its kind
	Summary string `json:"summary"` // one line
	Doc     string `json:"doc,omitempty"`
	Version string `json:"version,omitempty"` // the plugin's own; the protocol's version is negotiated at start

	Options []Option `json:"options,omitempty"` // in the order of the author's struct

	// What an assigner, a transform, an aggregate or a window function reads of a record, beside the columns that stand for its options. AllFields asks for every
	// field the pipeline decodes, Raw for the bytes of the record.
	Fields    []Field `json:"fields,omitempty"`
	AllFields bool    `json:"all_fields,omitempty"`
	Raw       bool    `json:"raw,omitempty"`

	// Assigners.
	Style Style `json:"style,omitempty"`

	// NotReplayable says that a source cannot be asked for the same records again after a restart, as with a socket. The daemon then
	// writes what it brings to a journal before it processes it, and replays that.
	NotReplayable bool `json:"not_replayable,omitempty"`
	// HoldsPartitions says that a source can leave single partitions alone while it goes on with the others, see [Holder]. The daemon then keeps
	// its partitions together where the pipeline says max_drift.
	HoldsPartitions bool `json:"holds_partitions,omitempty"`
	// TakesRefusals says that a source wants to know which of its records the pipeline has refused, see [Refuser].
	TakesRefusals bool `json:"takes_refusals,omitempty"`
	// InDaemon says that the plugin only makes sense inside the daemon's process, such as one that writes to its standard output.
	InDaemon bool `json:"in_daemon,omitempty"`
	// Stdin says that the plugin reads the daemon's standard input.
	Stdin bool `json:"stdin,omitempty"`

	// Sources, transforms and window functions: the fields of what they give. Empty for a source means raw rows, which the pipeline
	// decodes; for the others, fields that are known only while they run. For an aggregate, one field: [ResultColumn] and its type.
	Output []Field `json:"output,omitempty"`

	// Sinks. A text sink gets rows that are already formatted; the others get columns.
	Delivery Delivery `json:"delivery,omitempty"`
	Text     bool     `json:"text,omitempty"`

	Snapshots bool `json:"snapshots,omitempty"` // has state that a checkpoint holds
}

// Option returns the option of that name.
func (d *Description) Option(name string) (Option, bool) {
	for _, o := range d.Options {
		if o.Name == name {
			return o, true
		}
	}
	return Option{}, false
}

// Field is a named column and the kind of its values.
type Field struct {
	Name     string   `json:"name"`
	Type     CellType `json:"type"`
	Required bool     `json:"required,omitempty"` // a record without it is refused
}

// CellType is what the author's Go (or other) type can take.
type CellType string

const (
	AnyCell    CellType = "any"
	BoolCell   CellType = "bool"
	IntCell    CellType = "int"
	FloatCell  CellType = "float"
	StringCell CellType = "string"
	TimeCell   CellType = "timestamp"
)

// OptionType says how an option is written in a pipeline file.
type OptionType string

const (
	StringOption   OptionType = "string"
	IntOption      OptionType = "int"
	FloatOption    OptionType = "float"
	BoolOption     OptionType = "bool"
	DurationOption OptionType = "duration" // "5s", "1m30s", "200ms", "2d", "1w"
	SizeOption     OptionType = "size"     // "64KiB", "1MB", or a number of bytes
	StringsOption  OptionType = "strings"  // an array of strings
	TableOption    OptionType = "table"    // its keys are in Options; without Options: any keys with string values
	FieldOption    OptionType = "field"    // the name of a field of the record
	ExprOption     OptionType = "expr"     // an expression over the record
)

// Option is one key of a plugin's table. For field and expr options the host evaluates what is written over each record and hands
// the plugin a column that is named like the option; an option that is not set gives no column.
type Option struct {
	Name     string     `json:"name"`
	Type     OptionType `json:"type"`
	Help     string     `json:"help,omitempty"`
	Default  string     `json:"default,omitempty"` // as one writes it, strings without quotes, lists joined by ","; "" = the zero value
	Required bool       `json:"required,omitempty"`
	Enum     []string   `json:"enum,omitempty"`    // the only values allowed
	Result   CellType   `json:"result,omitempty"`  // expr and field: what the expression must give
	Options  []Option   `json:"options,omitempty"` // table
}
