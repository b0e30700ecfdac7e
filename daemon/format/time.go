package format

import (
	"math"
	"strconv"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// noTime reports whether ms is one of the ends of the time line, which say that there is no time: the bounds of a window over
// everything, a watermark before the first.
func noTime(ms int64) bool { return ms == batch.NoTimestamp || ms == batch.EndOfInput }

// timeText remembers the text of a column's last time: the rows of one firing have their window's bounds in common.
type timeText struct {
	ms    int64
	known bool
	bytes []byte
}

func (t *timeText) text(ms int64) []byte {
	if !t.known || t.ms != ms {
		t.ms, t.known = ms, true
		t.bytes = AppendTime(t.bytes[:0], ms)
	}
	return t.bytes
}

// AppendTime appends ms since 1970 as RFC 3339 in UTC with milliseconds. Years outside 0 to 9999 get a sign and at least six digits.
func AppendTime(dst []byte, ms int64) []byte {
	const dayMillis = 24 * 60 * 60 * 1000
	days := ms / dayMillis
	rest := ms % dayMillis
	if rest < 0 {
		rest += dayMillis
		days--
	}
	year, month, day := civil(days)
	switch {
	case year >= 0 && year <= 9999:
		dst = digits(dst, year, 4)
	case year < 0:
		dst = digits(append(dst, '-'), -year, 6)
	default:
		dst = digits(append(dst, '+'), year, 6)
	}
	dst = digits(append(dst, '-'), month, 2)
	dst = digits(append(dst, '-'), day, 2)
	dst = digits(append(dst, 'T'), rest/3_600_000, 2)
	dst = digits(append(dst, ':'), rest/60_000%60, 2)
	dst = digits(append(dst, ':'), rest/1000%60, 2)
	dst = digits(append(dst, '.'), rest%1000, 3)
	return append(dst, 'Z')
}

// civil turns days since 1970 into a date of the proleptic Gregorian calendar. It counts in eras of 400 years that begin on 1 March,
// so that the leap day is the last day of a year. The package time does the same, but not for all int64 milliseconds.
func civil(days int64) (year, month, day int64) {
	const eraDays = 146097
	z := days + 719468
	era := z / eraDays
	if z%eraDays < 0 {
		era--
	}
	ofEra := z - era*eraDays
	yearOfEra := (ofEra - ofEra/1460 + ofEra/36524 - ofEra/146096) / 365
	ofYear := ofEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*ofYear + 2) / 153
	day = ofYear - (153*m+2)/5 + 1
	month = m + 3
	year = yearOfEra + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

// digits appends v, not negative, with leading zeros to at least width digits.
func digits(dst []byte, v int64, width int) []byte {
	limit := int64(math.Pow10(width))
	if v >= limit {
		return strconv.AppendInt(dst, v, 10)
	}
	for range width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; v > 0; i-- {
		dst[i] = byte('0' + v%10)
		v /= 10
	}
	return dst
}

// Time is a time in a template's data. It prints as the time format says; its methods give other forms.
type Time struct {
	ms          int64
	epochMillis bool
}

// String is the time as every format writes it.
func (t Time) String() string {
	if t.epochMillis {
		return strconv.FormatInt(t.ms, 10)
	}
	return string(AppendTime(nil, t.ms))
}

// Millis is milliseconds since 1970.
func (t Time) Millis() int64 { return t.ms }

// Seconds is whole seconds since 1970, rounded down.
func (t Time) Seconds() int64 { return time.UnixMilli(t.ms).Unix() }

// Format writes the time in UTC with a layout of Go's package time.
func (t Time) Format(layout string) string { return time.UnixMilli(t.ms).UTC().Format(layout) }

// In writes the time with a layout in a time zone, for instance "Asia/Shanghai".
func (t Time) In(zone, layout string) (string, error) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return "", err
	}
	return time.UnixMilli(t.ms).In(loc).Format(layout), nil
}
