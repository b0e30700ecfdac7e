package decode

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Names of units. Everything else is a layout.
const (
	UnitSeconds = "s"
	UnitMillis  = "ms"
	UnitMicros  = "us"
	UnitNanos   = "ns"
	UnitRFC3339 = "rfc3339"
	UnitSyslog  = "syslog" // RFC 3339, or "Jan  2 15:04:05" of old syslog, whichever a row has
	UnitAuto    = "auto"
)

// TimeOptions are what reading times depends on besides the unit. The zero value is useful.
type TimeOptions struct {
	// Location is the zone of times that do not say theirs, and what zone abbreviations are looked up in. Nil is UTC for
	// layouts, and makes unit rfc3339 refuse times without an offset.
	Location *time.Location
	// Zones are further zone abbreviations, e.g. "CET": "+01:00". They go before Location's own. UTC, GMT and Z are always
	// known; any other abbreviation makes a time refused, it is never taken for UTC.
	Zones map[string]string
	// Year is the year of times without one. 0 means the year that brings the time nearest to the reference, see
	// [Timestamps.SetReference].
	Year int
}

// Timestamps reads values of one unit as event times in milliseconds. It belongs to one goroutine.
//
// What is finer than a millisecond is rounded down, before 1970 as well. Numbers are taken exactly, however many digits they
// have, and texts that are numbers like numbers. A time that does not fit, or is one of the two values that mean "none" and
// "end of input", is refused.
//
// Second 60 is read as the first second of the next minute, where a leap second can be: at 23:59:60 UTC on the last day of a
// month. Anywhere else it is refused.
//
// In the zone of Location, a time that occurs twice (clocks go back) is the earlier one, and a time that does not occur
// (clocks go forward) is read with the offset before the change, so 02:30 becomes what the clocks then call 03:30.
//
// Unit auto decides for each value, by its size or form, and depends on nothing before it: whole numbers below 1e11 are
// seconds, below 1e14 milliseconds, below 1e17 microseconds, others nanoseconds; texts are numbers, RFC 3339, or one of a
// few layouts that cannot be confused. [Timestamps.Notice] says what was decided.
type Timestamps struct {
	unit  string
	scale int // power of ten from the unit to ms, for numbers
	kind  timeKind

	zone      zone
	abbrev    map[string]int // offsets in seconds
	layout    *layout
	year      int
	reference int64 // ms, NoTimestamp when there is none

	lastDate [10]byte // the date that lastDays belongs to; records of one source mostly share it
	lastDays int64

	// The last text and its time: in logs, many rows in a row are of the same second.
	last     [40]byte
	lastSize int // 0: none
	lastMs   int64

	noticed uint32 // bits of what notices have been given for
	notices []Notice
	auto    []*layout
}

type timeKind uint8

const (
	timeNumber timeKind = iota
	timeRFC3339
	timeLayout
	timeAuto
	timeSyslog
)

// NewTimestamps reads a unit: s, ms, us, ns, rfc3339, syslog, auto, a Go layout ("2006-01-02 15:04:05") or a strftime layout
// ("%Y-%m-%d %H:%M:%S").
//
// Both kinds of layouts are read in the same spirit. After the seconds a fraction of any length may follow, with a point or
// a comma, whether or not the layout names one, and may be absent where it does. A space matches one or more. Names of
// months and days may be in any case. A numeric zone may be Z, +01, +0100 or +01:00. An integer is read as its digits,
// by a layout that has digits alone.
func NewTimestamps(unit string, o TimeOptions) (*Timestamps, error) {
	t := &Timestamps{unit: unit, zone: newZone(o.Location), year: o.Year, reference: batch.NoTimestamp, lastDays: noDays}
	t.abbrev = map[string]int{"UTC": 0, "GMT": 0, "Z": 0}
	for name, offset := range o.Zones {
		seconds, ok := parseOffset(offset)
		if !ok {
			return nil, fmt.Errorf(`offset %q of zone %s is not of the form "+01:00"`, offset, name)
		}
		t.abbrev[name] = seconds
	}
	if o.Year != 0 && (o.Year < 1 || o.Year > 9999) {
		return nil, fmt.Errorf("year %d is not between 1 and 9999", o.Year)
	}
	switch unit {
	case UnitSeconds:
		t.scale = 3
	case UnitMillis:
		t.scale = 0
	case UnitMicros:
		t.scale = -3
	case UnitNanos:
		t.scale = -6
	case UnitRFC3339:
		t.kind = timeRFC3339
	case UnitAuto:
		t.kind = timeAuto
		for _, l := range autoLayouts {
			t.auto = append(t.auto, mustLayout(l))
		}
	case UnitSyslog:
		t.kind = timeSyslog
		for _, l := range syslogLayouts {
			t.auto = append(t.auto, mustLayout(l))
		}
	default:
		l, err := compileLayout(unit)
		if err != nil {
			return nil, err
		}
		t.kind, t.layout = timeLayout, l
	}
	return t, nil
}

// Unit is the unit that t was made for.
func (t *Timestamps) Unit() string { return t.unit }

// NeedsYear says whether times of this unit have no year of their own, so that Year or a reference is needed.
func (t *Timestamps) NeedsYear() bool {
	return t.kind == timeLayout && t.layout.needsYear() && t.year == 0
}

// SetReference gives the processing time (ms) near which times without a year lie; call it for each batch with the time at
// which the batch arrived.
func (t *Timestamps) SetReference(ms int64) {
	if ms != t.reference {
		t.reference, t.lastSize = ms, 0
	}
}

// Parse reads one text, as a column's cell would be.
func (t *Timestamps) Parse(text string) (ms int64, err error) {
	ms, problem := t.text([]byte(text))
	if problem != "" {
		return batch.NoTimestamp, fmt.Errorf("%q is not a time of unit %q: %s", text, t.unit, problem)
	}
	return ms, nil
}

// Column writes the event time of each selected row into out, which has b.N elements. Rows without a value, or with one that
// is not a time, get NoTimestamp and are refused (no_timestamp, bad_timestamp) and taken out of the selection. Rows that were not selected
// get NoTimestamp: what stands in their cells is no value.
func (t *Timestamps) Column(b *batch.Batch, c *batch.Column, out []int64) {
	out = out[:b.N]
	t.look(b, c)
	if kind, ok := c.Uniform(); ok && kind == batch.Int && t.kind == timeNumber && t.integers(c.Bits[:len(out)], out) {
		if b.Sel != nil {
			clearOthers(out, b.Sel)
		}
		return
	}
	from := len(b.Bad)
	if b.Sel == nil {
		for i := range b.N {
			t.row(b, c, i, out)
		}
	} else {
		for _, i := range b.Sel {
			t.row(b, c, int(i), out)
		}
		clearOthers(out, b.Sel)
	}
	b.Narrow(from)
}

// clearOthers takes the times of rows that are not in sel, which is ascending.
func clearOthers(out []int64, sel []uint32) {
	next := 0
	for _, i := range sel {
		for ; next < int(i); next++ {
			out[next] = batch.NoTimestamp
		}
		next = int(i) + 1
	}
	for ; next < len(out); next++ {
		out[next] = batch.NoTimestamp
	}
}

// integers converts a whole column. It is false, with nothing said about out, when some value does not fit.
func (t *Timestamps) integers(in []uint64, out []int64) bool {
	switch t.scale {
	case 0:
		bad := false
		for i, v := range in {
			out[i] = int64(v)
			bad = bad || v == math.MaxInt64 || v == 1<<63
		}
		return !bad
	case 3:
		// One comparison checks both ends of the range.
		const limit = math.MaxInt64 / 1000
		bad := false
		for i, v := range in {
			out[i] = int64(v) * 1000
			bad = bad || v+limit > 2*limit
		}
		return !bad
	}
	divisor := int64(1000)
	if t.scale == -6 {
		divisor = 1000000
	}
	for i, v := range in {
		out[i] = floorDiv(int64(v), divisor)
	}
	return true
}

func (t *Timestamps) row(b *batch.Batch, c *batch.Column, i int, out []int64) {
	kind, value := c.Kinds[i], c.Bits[i]
	var ms int64
	var problem string
	switch {
	case kind == batch.String:
		text := b.Text(value)
		if isBlank(text) {
			t.none(b, c, i, out, "is empty")
			return
		}
		ms, problem = t.text(text)
	case kind == batch.Missing:
		t.none(b, c, i, out, "is missing")
		return
	case kind == batch.Null:
		t.none(b, c, i, out, "is null")
		return
	default:
		ms, problem = t.cell(b, kind, value)
	}
	if problem != "" {
		out[i] = batch.NoTimestamp
		b.Refuse(i, CodeBadTimestamp, fmt.Sprintf("time field %q: %s is not a time of unit %q: %s",
			c.Name, quoteValue(cellText(b, c, i)), t.unit, problem))
		return
	}
	out[i] = ms
}

func (t *Timestamps) none(b *batch.Batch, c *batch.Column, i int, out []int64, what string) {
	out[i] = batch.NoTimestamp
	b.Refuse(i, CodeNoTimestamp, fmt.Sprintf("time field %q %s", c.Name, what))
}

// cell reads a cell that is not a text. problem is empty when that went well.
func (t *Timestamps) cell(b *batch.Batch, kind batch.Kind, value uint64) (ms int64, problem string) {
	switch kind {
	case batch.Time:
		return int64(value), ""
	case batch.Int:
		v := int64(value)
		if t.kind == timeLayout {
			return t.integerByLayout(v)
		}
		return t.decimal(absolute(v), 0, v < 0, false)
	case batch.Uint:
		return t.decimal(value, 0, false, false)
	case batch.Float:
		return t.float(math.Float64frombits(value))
	case batch.JSON:
		return t.number(b.Text(value))
	}
	return 0, "a " + kind.String() + " is no time"
}

// integerByLayout reads 20260131 by "%Y%m%d". Zeros in front are lost to an integer, so that one with fewer digits could be anything.
func (t *Timestamps) integerByLayout(v int64) (ms int64, problem string) {
	var buf [20]byte
	text := strconv.AppendInt(buf[:0], v, 10)
	switch n := t.layout.digits(); {
	case n == 0:
		return 0, problemNumber
	case n > 0 && n != len(text):
		return 0, fmt.Sprintf("it has not the %d digits of the layout", n)
	}
	return t.byLayout(t.layout, text)
}

// text reads a text. It must not be blank.
func (t *Timestamps) text(text []byte) (ms int64, problem string) {
	text = trimSpaces(text)
	switch t.kind {
	case timeRFC3339:
		return t.rfc3339(text, t.zone.named)
	case timeNumber:
		return t.number(text)
	}
	if t.lastSize > 0 && string(t.last[:t.lastSize]) == string(text) {
		return t.lastMs, ""
	}
	switch t.kind {
	case timeLayout:
		ms, problem = t.byLayout(t.layout, text)
	case timeAuto:
		ms, problem = t.detect(text)
	case timeSyslog:
		ms, problem = t.syslog(text)
	}
	if problem == "" && len(text) <= len(t.last) {
		t.lastSize, t.lastMs = copy(t.last[:], text), ms
	}
	return ms, problem
}

func trimSpaces(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

const problemNumber = "it is a number, not a text"

const problemRange = "it is out of range"

func absolute(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

func floorDiv(v, d int64) int64 {
	q := v / d
	if v%d < 0 {
		q--
	}
	return q
}
