package watermark

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// EventKind says what changed at an output.
type EventKind uint8

const (
	Rise   EventKind = iota // the watermark rose to Event.Watermark
	Idle                    // nothing is expected for a while: do not wait for this output
	Active                  // it counts again
)

func (k EventKind) String() string { return [...]string{"watermark", "idle", "active"}[k] }

// Event is one change of a combined output. Events of one call are in the order in which they have to be passed on.
type Event struct {
	Kind      EventKind
	Watermark int64 // event time in ms, for Rise; otherwise 0
}

func (e Event) String() string {
	if e.Kind == Rise {
		return "watermark " + Format(e.Watermark)
	}
	return e.Kind.String()
}

// Format writes a watermark for people: its number, "none" or "end of input".
func Format(watermark int64) string {
	switch watermark {
	case batch.NoWatermark:
		return "none"
	case batch.EndOfInput:
		return "end of input"
	default:
		return fmt.Sprint(watermark)
	}
}

// saturatingAdd is a+b, held at the ends of int64 instead of wrapping.
func saturatingAdd(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	}
	return s
}

// saturatingSub is a-b, held at the ends of int64 instead of wrapping.
func saturatingSub(a, b int64) int64 {
	d := a - b
	switch {
	case a >= 0 && b < 0 && d < 0:
		return math.MaxInt64
	case a < 0 && b > 0 && d >= 0:
		return math.MinInt64
	}
	return d
}

// FormatTime writes an event time for people: RFC 3339 in UTC where the year has four digits, else the number of milliseconds.
func FormatTime(ms int64) string {
	const first, last = -62135596800000, 253402300799999 // years 1 and 9999
	switch {
	case ms == batch.NoTimestamp || ms == batch.EndOfInput:
		return Format(ms)
	case ms < first || ms > last:
		return fmt.Sprintf("%d ms", ms)
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

// ParseTime reads what FormatTime has written, to the millisecond.
func ParseTime(text string) (int64, error) {
	switch text {
	case Format(batch.NoWatermark):
		return batch.NoWatermark, nil
	case Format(batch.EndOfInput):
		return batch.EndOfInput, nil
	}
	if number, far := strings.CutSuffix(text, " ms"); far {
		return strconv.ParseInt(number, 10, 64)
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, fmt.Errorf("%q is no event time: write it as 2026-01-31T12:00:00Z", text)
	}
	return t.UnixMilli(), nil
}
