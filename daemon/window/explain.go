package window

import (
	"fmt"
	"math"
	"time"
)

// Explanation says when a window does what.
type Explanation struct {
	Span Span
	// ByClock: the two moments below are times that the clock has to show; otherwise they are watermarks.
	ByClock bool
	// Fires is the lowest watermark (or the time of the clock) at which the window gives its result; FiresNever when its end gives
	// none.
	Fires int64
	// Drops is the lowest watermark (or the time of the clock) at which nothing is left of the window, and from which on its rows are
	// late; FiresNever when it stays.
	Drops int64
	Rules []string // in words, whole sentences, in the order in which things happen
}

// FiresNever is a moment that does not come.
const FiresNever = math.MinInt64

// Explain says what windows of this Spec do, for the one given. Sessions are explained as they are now: each row may move their end.
// The Spec must be without mistakes.
func (s Spec) Explain(span Span) Explanation {
	r := newRules(&s)
	x := Explanation{Span: span, ByClock: s.ProcessingTime, Fires: FiresNever, Drops: FiresNever}
	last := span.MaxTimestamp()
	if s.Type != Global {
		x.Drops = addSaturating(last, s.Lateness)
		if s.ProcessingTime {
			x.Drops = addSaturating(x.Drops, 1)
		}
	}
	switch r.end {
	case endByRows, endWithInput:
		x.Fires = last
	case endByClock:
		x.Fires = addSaturating(last, 1)
	}
	say := func(format string, args ...any) { x.Rules = append(x.Rules, fmt.Sprintf(format, args...)) }
	s.explainRows(span, say)
	s.explainEarly(&r, say)
	switch {
	case r.end == endWithInput || r.end != noEnd && span.End == math.MaxInt64:
		say("It gives its result at the end of input.")
	case r.end == endByRows:
		say("It gives its result when the watermark reaches its last millisecond, %s.", moment(last))
	case r.end == endByClock:
		say("It gives its result when the clock shows its end, %s.", moment(span.End))
	default:
		say("Its end gives no result.")
	}
	s.explainLate(&r, x.Drops, say)
	switch {
	case r.purge:
		say("Each result drops the rows it was made of, so the next one has only what has come since.")
	case r.retract:
		say("Each result after the first begins by taking the one before it back.")
	case r.fireLate && s.Lateness > 0 || r.count > 0 || r.eventEvery > 0 || r.processingEvery > 0:
		say("Each result has everything that has come so far.")
	}
	return x
}

// ExplainRow says, for a row at ts that arrives when the watermark stands at watermark, which windows take it and why the others do
// not: one sentence a window, and one more when no window takes it. Sessions are judged as if the key had none; one that is still
// there takes rows that would be late on their own.
func (s Spec) ExplainRow(ts, watermark int64) []string {
	if s.ProcessingTime || s.Type == Global {
		return []string{"No row is late for these windows."}
	}
	var words []string
	taken := false
	for _, span := range s.Assign(ts, nil) {
		drops := addSaturating(span.MaxTimestamp(), s.Lateness)
		name := fmt.Sprintf("[%s, %s)", moment(span.Start), moment(span.End))
		switch {
		case drops <= watermark:
			words = append(words, fmt.Sprintf("%s was dropped when the watermark reached %s; it stands at %s.", name, moment(drops), moment(watermark)))
			continue
		case span.MaxTimestamp() <= watermark:
			words = append(words, fmt.Sprintf("%s takes it: it has given its result, and is kept until the watermark reaches %s; it stands at %s.", name, moment(drops), moment(watermark)))
		default:
			words = append(words, fmt.Sprintf("%s takes it: it gives its result when the watermark reaches %s; it stands at %s.", name, moment(span.MaxTimestamp()), moment(watermark)))
		}
		taken = true
	}
	switch {
	case taken:
	case len(words) == 0:
		words = append(words, "It lies between two windows, since the slide is longer than the size.")
	case s.Type == Session:
		words = append(words, "So it is late, unless it touches a session of its key that is still there.")
	default:
		words = append(words, "So it is late.")
	}
	return words
}

type sayer func(format string, args ...any)

func (s *Spec) explainRows(span Span, say sayer) {
	by := "event time"
	if s.ProcessingTime {
		by = "the clock"
	}
	switch s.Type {
	case Global:
		say("All rows of a key are in this one window.")
	case Session:
		say("A session over %s: rows of a key that lie at most the gap apart belong together; as it is now, this one reaches from %s to %s.",
			by, moment(span.Start), moment(span.End))
		if s.MaxLength > 0 {
			say("It is cut when it would grow longer than %s.", ms(s.MaxLength))
		}
	default:
		say("It has the rows from %s (included) to %s (not included) by %s.", moment(span.Start), moment(span.End), by)
	}
}

func (s *Spec) explainEarly(r *rules, say sayer) {
	switch {
	case r.eventEvery > 0 && r.exact:
		say("The watermark makes it give a result for each multiple of %s that it passes, changed or not.", ms(r.eventEvery))
	case r.eventEvery > 0:
		say("When it has changed, it gives an early result when everything before the next multiple of %s has come.", ms(r.eventEvery))
	}
	switch {
	case r.processingEvery > 0 && r.exact:
		say("The clock makes it give a result at each multiple of %s, changed or not.", ms(r.processingEvery))
	case r.processingEvery > 0:
		say("When it has changed, it gives an early result when the clock passes the next multiple of %s.", ms(r.processingEvery))
	}
	switch {
	case r.count > 0 && r.countEarly:
		say("Every %d rows give an early result.", r.count)
	case r.count > 0:
		say("Every %d rows of a key give a result; a rest of fewer rows gives none.", r.count)
	}
}

func (s *Spec) explainLate(r *rules, drops int64, say sayer) {
	switch {
	case s.Type == Global:
		say("No row is late for it, and it is never dropped.")
	case s.ProcessingTime:
		say("It is dropped with its result; no row is late for it.")
	case s.Lateness == 0:
		say("It is dropped with that watermark; rows for it that come later are late.")
	default:
		if r.fireLate && s.LateEvery == 0 {
			say("After that each row for it gives a result at once.")
		} else if r.fireLate {
			say("After that, rows for it are collected, and give a result when everything before the next multiple of %s has come.", ms(s.LateEvery))
		}
		say("It is kept for the allowed lateness of %s and dropped when the watermark reaches %s; rows for it that come later are late.",
			ms(s.Lateness), moment(drops))
	}
}

// moment is event time for people.
func moment(t int64) string {
	switch {
	case t == math.MaxInt64:
		return "the end of time"
	case t == math.MinInt64:
		return "the beginning of time"
	}
	u := time.UnixMilli(t).UTC()
	if y := u.Year(); y < 0 || y > 9999 {
		return fmt.Sprintf("%d ms", t)
	}
	return u.Format("2006-01-02T15:04:05.999Z07:00")
}
