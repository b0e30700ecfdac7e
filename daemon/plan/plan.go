package plan

import (
	"encoding/json"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk"
)

// Plan is a pipeline as it will run: what is started with which options, what is read of each record, and who hands on to whom. It is plain
// data and read-only once built.
type Plan struct {
	File        string
	Name        string
	Description string

	Shards        int // 0 = one for each CPU
	DecodeWorkers int // 0 = one for each CPU
	BatchRows     int
	BatchBytes    int64
	Linger        time.Duration

	Sources []*Source
	Steps   []*Step // inputs come before those who read them
	Sinks   []*Sink

	Checkpoint  config.Checkpoint
	State       config.State
	DeadLetters config.DeadLetters
	Restart     config.Restart
	Policies    []*config.PluginPolicy // how plugin processes are run
}

// Port is an output of a component.
type Port string

// The ports. Every source and step has Main and Errors, windows have Late too.
const (
	Main   Port = ""
	Errors Port = "errors"
	Late   Port = "late"
)

// Input is an output of a component that another one reads.
type Input struct {
	From  string
	Port  Port
	Shape Shape // what the rows look like
	// Computed are columns that the reader wants by name and that lie within a column of the rows ("user.name" in a column user that a map
	// has made): they are computed before the reader gets the rows.
	Computed []Column
	// Whole is set for sinks that write whole records: a row is the JSON object in the column decode.WholeColumn, with Shape.Fields put in
	// (a member of that name is replaced where it stands, others come last) and Shape.Dropped taken out. Other columns of the batch were
	// read for other purposes and are not part of it.
	Whole bool
	// Watermark asks for a column _watermark (time, null before the first one): the stream's watermark when the row passes. It is set where
	// a sink names that column.
	Watermark bool
}

func (i Input) String() string {
	if i.Port == Main {
		return i.From
	}
	return i.From + "." + string(i.Port)
}

// Plugin is a plugin to start.
type Plugin struct {
	Kind      sdk.Kind
	Name      string
	Isolation string // "process" or "none"
	Origin    string // where it was found, for people
	Shipped   bool
	// Options is the JSON object that the plugin gets: what the file says, with durations and sizes in one form and defaults left to the
	// plugin. It may hold secrets; Shown is the same with references to the environment as written.
	Options json.RawMessage `json:"-"`
	Shown   json.RawMessage `json:"Options"`
	// Columns are what the pipeline computes for the plugin's field and expression options, over each record: a column named like the
	// option.
	Columns []Column
	// Fields are what it reads of a record beside these. All says that it wants every field that there is: as columns those that are known by
	// name, and the others in decode.WholeColumn.
	Fields []string
	All    bool
}

// Column is a column that is computed from others.
type Column struct {
	Name  string // of the column
	Expr  string // as written
	Field string // the field, when the expression is just that
	Reads []string
	Time  bool   // the value is a time in the source's unit, and is handed on as one
	At    string // file:line:col, for messages while running
}

// TimeRule says where a source's timestamps and watermarks come from.
type TimeRule string

// The rules.
const (
	AssignerTime   TimeRule = "assigner"   // timestamps from the Timestamp setting or the assigner plugin, watermarks from it
	SourceTime     TimeRule = "source"     // the source plugin brings both
	IngestionTime  TimeRule = "ingestion"  // the clock at arrival; watermarks follow the clock
	ProcessingTime TimeRule = "processing" // none; windows run on the clock
)

// Source is a source with everything up to the watermark.
type Source struct {
	Name   string
	Plugin Plugin

	// Decode says how raw rows become columns; nil when the source's batches come with columns, which are Fields then.
	Decode  *decode.Spec
	Framing string // of raw rows: "lines", "csv" or "none"
	// MaxRecord is the longest raw row in bytes.
	MaxRecord int64
	Fields    []string // the columns that are decoded or kept, in order
	Journal   config.Journal
	// Journaled says that what the source brings is written to a journal before it is processed, because it cannot be asked for it again.
	Journaled bool
	// HoldsPartitions says that max_drift keeps single partitions of the source together, because its plugin can leave them alone.
	HoldsPartitions bool
	// TakesRefusals says that the source is told which of its records were refused.
	TakesRefusals bool

	Rule      TimeRule
	Timestamp *Column // what is parsed as the event time; nil when the source or the assigner gives timestamps by itself
	TimeUnit  TimeUnit
	Assigner  *Assigner // AssignerTime

	Interval   time.Duration // AssignerTime: how often a periodic assigner is asked, 0 = after every record; IngestionTime: grain of watermarks
	IdleAfter  time.Duration // 0 = never
	OnAllIdle  string        // "advance" or "hold"
	MaxAhead   time.Duration // 0 = no limit
	Confirm    *config.Confirm
	MaxDrift   time.Duration // 0 = no limit
	DriftGroup string        // sources with the same group are aligned together

	// Bucket says which watermarks can matter to the windows that read from here: of those that fall into one bucket only the first has
	// to be kept.
	Bucket Bucket
}

// TimeUnit is how values are read as event times.
type TimeUnit struct {
	Unit     string
	Timezone string
	Options  decode.TimeOptions
}

// Assigner is the assigner plugin of a source.
type Assigner struct {
	Plugin
	Style sdk.Style
	Keep  bool // markers are data, too
}

// AssignerName is the name of the source's assigner plugin, "" when it has none.
func (s *Source) AssignerName() string {
	if s.Assigner == nil {
		return ""
	}
	return s.Assigner.Name
}

// Bucket is a granularity of watermarks: w matters only if floor((w+1-Offset)/Size) rises. Size 1 means that all do.
type Bucket struct{ Size, Offset int64 }

// Step is a transform. Exactly one of the pointers is set, but that a Fold has a Plugin, too.
type Step struct {
	Name   string
	Type   string // as in the file
	Inputs []Input
	Output Shape // of the main port

	Window *Window
	Filter *Column // the condition; its Name is ""
	Map    *Map
	Unnest *Unnest
	Dedup  *Dedup
	Fold   *Fold
	Plugin *Plugin
}

// Window is a keyed window operator.
type Window struct {
	Spec       window.Spec
	Timezone   string // name of Spec.Location
	Keys       []string
	Aggregates []aggregate.Spec
	// Computed are columns to be computed before, which Aggregates and Spec.GapColumn refer to by name.
	Computed []Column
	Meta     bool
	// Columns are those of the results.
	Columns []string

	failed     []string // columns with mistakes: nobody behind shall be told that they are not there
	incomplete bool     // some columns are not even known by name
	folds      []*Step  // plugins behind it, in order
	folded     []sdk.Description
}

// Env is what the operator is told beside its Spec.
func (w *Window) Env() window.Env { return window.Env{KeyFields: w.Keys, Meta: w.Meta} }

// Map changes fields. Expressions see the record as it came in; then renames are done, then Drop or Keep.
type Map struct {
	Set    []Column
	Rename []Rename
	Drop   []string
	Keep   []string
}

// Rename gives a field another name.
type Rename struct{ From, To string }

// Unnest makes a record of each element of an array.
type Unnest struct {
	Field string
	As    string
	Index string // "" = no such field
}

// Dedup drops records whose key has been seen within a span of event time.
type Dedup struct {
	Keys   []string
	Within int64 // ms
}

// Sink is a sink with its delivery.
type Sink struct {
	Name        string
	Plugin      Plugin
	Inputs      []Input
	Capability  sdk.Delivery // what the sink can do
	ExactlyOnce bool         // deliver after the commit
	Text        bool         // it gets formatted rows; else columns
	Format      format.Options
	Batch       config.SinkBatch
	Retry       config.Retry
	MaxInFlight int
}

// Source returns the source of that name, or nil.
func (p *Plan) Source(name string) *Source {
	for _, s := range p.Sources {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Step returns the step of that name, or nil.
func (p *Plan) Step(name string) *Step {
	for _, s := range p.Steps {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (p *Plan) sink(name string) *Sink {
	for _, s := range p.Sinks {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// InputsOf are the inputs of the step or sink of that name; nil for a source, and for a name that is not there.
func (p *Plan) InputsOf(name string) []Input {
	if s := p.Step(name); s != nil {
		return s.Inputs
	}
	if s := p.sink(name); s != nil {
		return s.Inputs
	}
	return nil
}

// Reader is somebody who reads a port: a step or a sink, and which of its inputs that is.
type Reader struct {
	Name  string
	Input int
	Sink  bool
}

// Readers lists who reads a port, steps first, in order. A port of errors or late rows that nobody reads goes to the dead-letter store.
func (p *Plan) Readers(from string, port Port) []Reader {
	var out []Reader
	for _, s := range p.Steps {
		for i, in := range s.Inputs {
			if in.From == from && in.Port == port {
				out = append(out, Reader{s.Name, i, false})
			}
		}
	}
	for _, s := range p.Sinks {
		for i, in := range s.Inputs {
			if in.From == from && in.Port == port {
				out = append(out, Reader{s.Name, i, true})
			}
		}
	}
	return out
}

// Policy is how processes of a plugin are run, or nil when the file does not say.
func (p *Plan) Policy(kind sdk.Kind, name string) *config.PluginPolicy {
	for _, q := range p.Policies {
		if q.Kind == string(kind) && q.Name == name {
			return q
		}
	}
	return nil
}
