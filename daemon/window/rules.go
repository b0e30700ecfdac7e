package window

// endRule says what ends a window: what gives its on_time result.
type endRule uint8

const (
	noEnd        endRule = iota
	endByRows            // the watermark reaches the max timestamp
	endByClock           // the clock reaches the max timestamp
	endWithInput         // the end of input
)

// rules are a Spec's trigger, mode and early firings in one form: what fires, and what a firing does.
type rules struct {
	end      endRule
	fireLate bool // a row taken after the end fires (7.7), at once or collected

	count      int64 // a firing at every so many rows of a window; 0 = none
	countEarly bool  // only before the end

	eventEvery      int64 // firings at multiples of event time; 0 = none
	processingEvery int64 // firings at multiples of the clock; 0 = none
	// exact: the multiples are those of Flink's continuous triggers, and every one of them fires (10.3). Otherwise they are early
	// results: only windows that have changed since they last fired fire again.
	exact bool

	purge   bool // a firing drops the contents
	retract bool // a firing first takes the result before it back
}

func newRules(s *Spec) rules {
	r := rules{
		purge:   s.Purging || s.Mode == Discarding,
		retract: s.Mode == Retracting,
	}
	atEnd := endByRows
	if s.ProcessingTime {
		atEnd = endByClock
	}
	switch s.effectiveTrigger() {
	case OnEventTime:
		r.end, r.fireLate = endByRows, true
	case OnProcessingTime:
		r.end = endByClock
	case OnEndOfInput:
		r.end = endWithInput
	case OnCount:
		r.count = s.Count
	case ContinuousEventTime:
		r.end, r.fireLate, r.eventEvery, r.exact = endByRows, true, s.Interval, true
	case ContinuousProcessingTime:
		r.end, r.fireLate, r.processingEvery, r.exact = atEnd, !s.ProcessingTime, s.Interval, true
	}
	if s.EarlyEvery > 0 {
		r.eventEvery = s.EarlyEvery
	}
	if s.EarlyProcessingEvery > 0 {
		r.processingEvery = s.EarlyProcessingEvery
	}
	if s.EarlyCount > 0 {
		r.count, r.countEarly = s.EarlyCount, true
	}
	return r
}
