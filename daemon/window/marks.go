package window

import "time"

// MarkBucket says which watermarks can make a difference to these windows: w matters only when floor((w+1-offset)/size) is
// above that of the watermark before it. Of the marks that fall into one bucket only the first has to be kept, and the results are
// the same, byte for byte. A size of 1 means that every mark counts; meta is [Env.Meta], whose _watermark column shows the current
// watermark in results that a row has fired.
//
// Everything that an operator does at a watermark happens at w+1 >= t for a t that it names beforehand: a window fires at its end t,
// is dropped and makes rows late at its end plus the lateness. So the t of the Spec have to be boundaries of buckets.
func (s Spec) MarkBucket(meta bool) (size, offset int64) {
	const never = 1 << 62 // no mark but the end of input counts
	s = s.Settled()
	r := newRules(&s)
	if meta && (r.fireLate && s.Lateness > 0 && s.LateEvery == 0 || r.count > 0 || r.processingEvery > 0 || r.end == endByClock) && !s.ProcessingTime {
		return 1, 0
	}
	if s.ProcessingTime {
		return never, 0
	}
	if s.Type == Session || r.eventEvery > 0 && r.exact || s.hasGaps() {
		// Sessions end anywhere. Flink's continuous trigger lets a firing that was due before it was scheduled run with the very next
		// mark. And a row between two windows is late or silent by its own time (7.3).
		return 1, 0
	}
	var b bucket
	switch {
	case s.Type == Global:
	case s.CalendarN > 0:
		grain := int64(dayMillis)
		if s.Location != nil && s.Location != time.UTC {
			grain = 1000 // zones are whole seconds from UTC, also in the times of local mean time
		}
		if s.Type == Cumulative && s.SlideN == 0 {
			grain = gcd(grain, s.Slide)
		}
		b.add(s.Offset, grain)
		b.add(addSaturating(s.Offset, s.Lateness), grain)
		if grain < dayMillis { // what the clock skips comes with its change, which is at a whole second
			b.add(0, grain)
			b.add(s.Lateness, grain)
		}
	default:
		step := s.Size
		if s.Type != Tumbling {
			step = s.Slide
		}
		end := floorMod(s.boundaryOffset(), step) + s.Size%step
		b.add(end, step)
		b.add(addSaturating(end, s.Lateness), step)
	}
	if r.eventEvery > 0 {
		b.add(0, r.eventEvery)
	}
	if s.LateEvery > 0 {
		b.add(0, s.LateEvery)
	}
	if b.size == 0 {
		return never, 0
	}
	return b.size, floorMod(b.offset, b.size)
}

// hasGaps says whether there are times between the windows.
func (s *Spec) hasGaps() bool {
	switch {
	case s.Type != Sliding:
		return false
	case s.CalendarN == 0:
		return s.Slide > s.Size
	case s.CalendarUnit == Month:
		return s.SlideN > s.CalendarN
	}
	return daysOf(s.SlideN, s.SlideUnit) > daysOf(s.CalendarN, s.CalendarUnit)
}

// bucket is a set of boundaries offset + k*size; add makes it fine enough to hold others too.
type bucket struct{ size, offset int64 }

func (b *bucket) add(offset, size int64) {
	offset = floorMod(offset, size)
	if b.size == 0 {
		b.size, b.offset = size, offset
		return
	}
	b.size = gcd(gcd(b.size, size), subSaturating(max(offset, b.offset), min(offset, b.offset)))
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
