package decode

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Names of formats.
const (
	FormatJSON      = "json"
	FormatCSV       = "csv"
	FormatDelimited = "delimited"
	FormatRegex     = "regex"
	FormatLogfmt    = "logfmt"
	FormatCLF       = "clf"
	FormatSyslog    = "syslog"
	FormatRaw       = "raw"
)

// Formats lists the names that Spec.Format takes, in the order of the docs.
func Formats() []string {
	return []string{FormatJSON, FormatCSV, FormatDelimited, FormatRegex, FormatLogfmt, FormatCLF, FormatSyslog, FormatRaw}
}

// Codes of refused rows. They are stable.
const (
	CodeMalformed    = "malformed"     // the row is not of the format
	CodeEmpty        = "empty"         // nothing in it
	CodeInvalidUTF8  = "invalid_utf8"  // and Spec.InvalidUTF8 is "reject"
	CodeType         = "type"          // a field does not fit its declared type
	CodeColumns      = "columns"       // more or fewer columns than the header, and the spec says reject
	CodeNoHeader     = "no_header"     // csv with a header row, and none was attached to the batch
	CodeNoColumn     = "no_column"     // the header lacks a wanted column
	CodeNoTimestamp  = "no_timestamp"  // the time field is missing, null or empty
	CodeBadTimestamp = "bad_timestamp" // the time field is there and not a time of the unit
)

// Values of Spec.InvalidUTF8.
const (
	InvalidReject  = "reject"
	InvalidReplace = "replace"
)

// WholeColumn is the name of the column that Spec.Whole adds.
const WholeColumn = batch.WholeColumn

// Spec says what the rows of a source look like and which fields of them are wanted. It is plain data; the zero value of each
// option is its default.
type Spec struct {
	Format string // one of Formats

	// Fields are the wanted fields; column i of the result is Fields[i].
	Fields []Field

	// Whole adds one more, last column named WholeColumn: the whole row as a JSON object (kind JSON). For json it is the row as
	// it came, for other formats an object of all their fields in their order, typed as declared.
	Whole bool

	// Declared are the names and types that the user wrote (decode.fields). For delimited, and for csv without a header row,
	// they also say which column is which, by their order; raw takes the first one's name for the row.
	Declared []Declared

	InvalidUTF8 string // InvalidReject (default) or InvalidReplace
	// Infer gives fields of text formats without a declared type the kind that their text looks like: a number as JSON writes
	// it becomes Int or Float (so 007 and +7 stay texts), true and false Bool, an empty text Null. Zeros at the end of a
	// fraction get lost by it.
	Infer bool

	// Delimiter separates columns: one character for csv (default ","), any string for delimited (default one space).
	Delimiter string
	// Collapse makes runs of the delimiter count once, and ignores it at both ends (delimited).
	Collapse bool

	Header  bool   // csv: the first row of each partition names the columns
	Quote   string // csv: the quote character; default `"`, "none" for no quoting
	Lazy    bool   // csv: a quote inside an unquoted value is a character like others; else the row is refused
	Extra   string // csv, delimited: rows longer than the header: "ignore" (default) or "reject"
	Short   string // csv, delimited: rows shorter than the header: "missing" (default: the fields are missing) or "reject"
	Pattern string // regex: an RE2 expression with named groups
	Partial bool   // regex: the expression may match a part of the row; default is the whole row

	// Location is the zone of times without one (nil: UTC), for fields of type timestamp and for syslog.
	Location *time.Location
	// Zones are zone abbreviations and their offsets ("CET": "+01:00"), for fields of type timestamp.
	Zones map[string]string
	// Year is the year of times without one (syslog of RFC 3164); 0 takes the year nearest to the reference time, see
	// [Decoder.SetReference].
	Year int
}

// Field is one wanted field.
type Field struct {
	Name string // name of the column
	Path Path   // where it is; nil parses Name
	Type Type   // Dynamic takes the declared type where there is one
	Unit string // for TypeTimestamp, as in NewTimestamps; empty takes the declared one, else rfc3339
}

// Declared is a field as the user wrote it: "user:string", "ts:int", "t:timestamp:2006-01-02 15:04:05", or only "user".
type Declared struct {
	Name string
	Path Path
	Type Type
	Unit string // for TypeTimestamp
}

// ParseDeclared reads one entry of decode.fields. Everything after a second colon is the unit of a timestamp. A name with a
// colon stands in double quotes.
func ParseDeclared(s string) (Declared, error) {
	name, rest := s, ""
	if strings.HasPrefix(s, `"`) {
		end := strings.IndexByte(s[1:], '"')
		if end < 0 {
			return Declared{}, fmt.Errorf("field %s: the quote is not closed", s)
		}
		name, rest = s[1:1+end], s[end+2:]
		if rest != "" && rest[0] != ':' {
			return Declared{}, fmt.Errorf("field %s: a colon and a type may follow the quoted name, not %q", s, rest)
		}
		rest = strings.TrimPrefix(rest, ":")
	} else if i := strings.IndexByte(s, ':'); i >= 0 {
		name, rest = s[:i], s[i+1:]
		if rest == "" {
			return Declared{}, fmt.Errorf("field %q: a type is missing after the colon", s)
		}
	}
	d := Declared{Name: name}
	if name == "" {
		return Declared{}, fmt.Errorf("field %q has no name", s)
	}
	if strings.HasPrefix(s, `"`) {
		d.Path = Path{{Name: name}}
	} else {
		p, err := ParsePath(name)
		if err != nil {
			return Declared{}, err
		}
		d.Path = p
	}
	if rest == "" {
		return d, nil
	}
	typ, unit, hasUnit := strings.Cut(rest, ":")
	t, ok := ParseType(typ)
	if !ok {
		return Declared{}, fmt.Errorf("field %q: type %q is not one of %s", name, typ, strings.Join(TypeNames(), ", "))
	}
	d.Type, d.Unit = t, unit
	if hasUnit && t != TypeTimestamp {
		return Declared{}, fmt.Errorf("field %q: only a timestamp has a unit, %s has none", name, t)
	}
	if hasUnit && unit == "" {
		return Declared{}, fmt.Errorf("field %q: the unit is missing after the colon", name)
	}
	return d, nil
}

// Type is the declared type of a field.
type Type uint8

const (
	TypeDynamic Type = iota
	TypeString
	TypeInt
	TypeUint
	TypeFloat
	TypeNumber // an integer where it is one, else a float; texts that are numbers are converted
	TypeBool
	TypeTimestamp
	TypeJSON // any value, as its JSON text

	// TypeExact is for the planner, not for people: like TypeDynamic, but a json number with a fraction or exponent keeps its
	// text (kind JSON), so that Timestamps sees each digit. It is meant for the time field.
	TypeExact
)

var typeNames = [...]string{"dynamic", "string", "int", "uint", "float", "number", "bool", "timestamp", "json", "exact"}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "invalid"
}

// TypeNames lists what ParseType takes.
func TypeNames() []string { return typeNames[:TypeExact] }

// ParseType finds a type by its name.
func ParseType(s string) (Type, bool) {
	for i, n := range TypeNames() {
		if n == s {
			return Type(i), true
		}
	}
	return 0, false
}

// OptionError is a mistake in one option of a Spec, for the line of that option.
type OptionError struct {
	Option  string // as in the pipeline file: "format", "fields", "delimiter", …
	Index   int    // for lists: which element; else 0
	Offset  int    // byte offset inside the option's value (pattern); else 0
	Message string
	Hint    string // how to mend it; may be empty
}

func (e OptionError) Error() string {
	s := e.Option + ": " + e.Message
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Errors are all mistakes of a Spec. Nil means none.
type Errors []OptionError

func (e Errors) Error() string {
	parts := make([]string, len(e))
	for i := range e {
		parts[i] = e[i].Error()
	}
	return strings.Join(parts, "\n")
}

// Err is e as an error, nil when there is none.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// OwnType is the type that a field has when nothing declares it: in text formats it is a string, except for what the format knows better.
// TypeDynamic is any. Any field may be null as well.
func (s *Spec) OwnType(name string) Type {
	switch s.Format {
	case FormatJSON, FormatLogfmt: // a name alone is true in logfmt
		return TypeDynamic
	case FormatCLF:
		if name == clfTime {
			return TypeTimestamp
		}
	case FormatSyslog:
		switch slices.Index(syslogNames(), name) {
		case syslogPriority, syslogFacility, syslogSeverity, syslogVersion:
			return TypeInt
		case syslogTimeField:
			return TypeTimestamp
		case syslogDataField:
			return TypeJSON
		}
	}
	if s.Infer {
		return TypeDynamic
	}
	return TypeString
}
