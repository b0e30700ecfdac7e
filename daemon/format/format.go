package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/jsontext"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Names of formats.
const (
	JSON = "json" // one object a line
	Text = "text" // a Go template a row
	CSV  = "csv"  // RFC 4180
	Raw  = "raw"  // the record as it came in
)

// Names of time formats.
const (
	RFC3339     = "rfc3339"
	EpochMillis = "epoch_ms"
)

// Options are the settings of a text sink that concern its rows. Zero values stand for the defaults.
type Options struct {
	Format     string   // default JSON
	Template   string   // Text: required
	TimeFormat string   // default RFC3339
	Fields     []string // JSON, CSV: which columns, in which order; default all of the batch as they come
	Delimiter  string   // CSV: one byte, default a comma
}

// OptionError is a mistake in one of the settings.
type OptionError struct {
	Option  string // format, template, time_format, delimiter
	Message string // what is wrong
	Hint    string // how to mend it, or ""
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Message }

// Formatter turns rows into text. It belongs to one goroutine.
type Formatter struct {
	format      string
	epochMillis bool
	fields      []string
	delim       byte
	template    *rowTemplate
	whole       *Whole // rows are whole records

	columns []*batch.Column // of the current batch, in the order to be written; nil where the batch has none of that name
	labels  []label         // what stands before each value
	times   []timeText

	rowBytes int // of the last batch, on the average
}

// mostAhead bounds what is allocated for rows before they are written: the last batch may have had much longer ones.
const mostAhead = 1 << 20

// label is the part of a JSON object before a value.
type label struct {
	name  string
	bytes []byte // "name":
}

// New makes a formatter. The error is an *OptionError.
func New(o Options) (*Formatter, error) {
	f := &Formatter{format: o.Format, fields: o.Fields, delim: ','}
	switch o.Format {
	case "":
		f.format = JSON
	case JSON, Text, CSV, Raw:
	default:
		return nil, &OptionError{Option: "format", Message: fmt.Sprintf("%q is not a format", o.Format), Hint: `use "json", "text", "csv" or "raw"`}
	}
	switch o.TimeFormat {
	case "", RFC3339:
	case EpochMillis:
		f.epochMillis = true
	default:
		return nil, &OptionError{Option: "time_format", Message: fmt.Sprintf("%q is not a time format", o.TimeFormat), Hint: `use "rfc3339" or "epoch_ms"`}
	}
	if o.Delimiter != "" {
		if f.format != CSV {
			return nil, &OptionError{Option: "delimiter", Message: fmt.Sprintf("format %q has no delimiter", f.format)}
		}
		if len(o.Delimiter) != 1 || strings.ContainsAny(o.Delimiter, "\"\r\n") {
			return nil, &OptionError{Option: "delimiter", Message: fmt.Sprintf("%q cannot be a delimiter", o.Delimiter), Hint: `use one byte, such as ";" or "\t"`}
		}
		f.delim = o.Delimiter[0]
	}
	if f.format != Text {
		if o.Template != "" {
			return nil, &OptionError{Option: "template", Message: fmt.Sprintf("format %q has no template", f.format), Hint: `write format = "text"`}
		}
		return f, nil
	}
	if o.Template == "" {
		return nil, &OptionError{Option: "template", Message: "the text format needs a template", Hint: `for instance template = "{{.user}}: {{.events}}"`}
	}
	t, err := parseTemplate(o.Template, f.epochMillis)
	if err != nil {
		return nil, err
	}
	f.template = t
	return f, nil
}

// Reads lists the fields that must be there: those of the template, or the Fields option. nil means whatever there is. A caller that
// knows the fields of the rows compares before anything runs.
func (f *Formatter) Reads() []string {
	if f.template != nil {
		return f.template.fields
	}
	return f.fields
}

// Append formats the selected rows of in and appends them to out as raw rows that end with a line feed. in is only read. The rows that
// a template cannot be applied to, and those whose record cannot take changes, are left out and returned, by their number in in.
func (f *Formatter) Append(out, in *batch.Batch) (bad []batch.BadRow) {
	out.Trailer = 1
	if len(out.Offsets) == 0 {
		out.Offsets = append(out.Offsets, uint32(len(out.Data)))
	}
	f.bind(in)
	n := in.Alive()
	begun := len(out.Data)
	out.Data = slices.Grow(out.Data, min(n*f.rowBytes, mostAhead)) // one allocation instead of a doubling after the other
	out.Offsets = slices.Grow(out.Offsets, n)
	for i := range n {
		row := i
		if in.Sel != nil {
			row = int(in.Sel[i])
		}
		data, err := f.row(out.Data, in, row)
		if err != nil {
			code := "template"
			if errors.Is(err, errNoObject) {
				code = "not_an_object"
			}
			bad = append(bad, batch.BadRow{Row: uint32(row), Code: code, Message: err.Error()})
			continue
		}
		out.Data = append(data, '\n')
		out.Offsets = append(out.Offsets, uint32(len(out.Data)))
		out.N++
	}
	if n > 0 {
		f.rowBytes = (len(out.Data)-begun)/n + 8
	}
	return bad
}

// AppendRow formats one row without a line end.
func (f *Formatter) AppendRow(dst []byte, in *batch.Batch, row int) ([]byte, error) {
	f.bind(in)
	return f.row(dst, in, row)
}

func (f *Formatter) row(dst []byte, in *batch.Batch, row int) ([]byte, error) {
	switch f.format {
	case Text:
		return f.template.append(dst, f, in, row)
	case CSV:
		return f.appendCSV(dst, in, row), nil
	case Raw:
		return append(dst, in.Row(row)...), nil
	default:
		if f.whole != nil {
			return f.appendWhole(dst, in, row)
		}
		return f.appendJSON(dst, in, row), nil
	}
}

// bind finds the columns to be written in a batch.
func (f *Formatter) bind(in *batch.Batch) {
	f.columns = f.columns[:0]
	if f.format == Raw {
		return
	}
	if names := f.Reads(); names != nil {
		for _, name := range names {
			f.columns = append(f.columns, in.Column(name))
		}
	} else {
		for i := range in.Columns {
			f.columns = append(f.columns, &in.Columns[i])
		}
	}
	for len(f.times) < len(f.columns) {
		f.times = append(f.times, timeText{})
	}
	if f.format != JSON {
		return
	}
	for i, c := range f.columns {
		if c == nil {
			if i == len(f.labels) {
				f.labels = append(f.labels, label{})
			}
			continue
		}
		if i < len(f.labels) && f.labels[i].name == c.Name {
			continue
		}
		l := label{name: strings.Clone(c.Name), bytes: append(jsontext.AppendString(nil, []byte(shownName(c.Name, f.columns))), ':')}
		if i < len(f.labels) {
			f.labels[i] = l
		} else {
			f.labels = append(f.labels, l)
		}
	}
}
