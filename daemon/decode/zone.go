package decode

import "time"

// zone turns clock times of one time zone into offsets. It remembers the span of clock times around the last one in which the
// offset cannot change, because looking it up costs more than all the rest.
type zone struct {
	location *time.Location
	named    bool // the user named it
	from, to int64
	cached   int64
}

func newZone(l *time.Location) zone {
	z := zone{location: l, named: l != nil}
	if l == nil {
		z.location = time.UTC
	}
	return z
}

// day is more than any zone is away from UTC.
const day = 26 * 3600

// offset is the offset (seconds east of UTC) of a clock time, given as seconds from 1970 on that clock. The rules for times
// that occur twice or not at all stand at Timestamps.
func (z *zone) offset(clock int64) int64 {
	if clock >= z.from && clock < z.to {
		return z.cached
	}
	before := z.at(clock - day)
	chosen := before
	if now := z.at(clock - before); now != before && z.at(clock-now) == now {
		chosen = now
	}
	if z.at(clock-chosen) != chosen {
		return chosen // a time that does not occur: the offset is not that of the span around
	}
	start, end := time.Unix(clock-chosen, 0).In(z.location).ZoneBounds()
	z.from, z.to, z.cached = minClock, maxClock, chosen
	if !start.IsZero() {
		z.from = start.Unix() + 2*day
	}
	if !end.IsZero() {
		z.to = end.Unix() - 2*day
	}
	return chosen
}

// The clock times of years 0 to 9999, and some more.
const (
	minClock = -1 << 40
	maxClock = 1 << 40
)

// at is the offset at an instant.
func (z *zone) at(unix int64) int64 {
	_, offset := time.Unix(unix, 0).In(z.location).Zone()
	return int64(offset)
}

// abbreviated is the offset that a clock time with a zone abbreviation has, if the zone uses that abbreviation at that time
// of the clock, or at another time of that year.
func (z *zone) abbreviated(clock int64, name string) (int64, bool) {
	if !z.named {
		return 0, false
	}
	const month = 30 * 86400
	for _, shift := range [...]int64{-day, 0, day, -3 * month, 3 * month, -6 * month, 6 * month} {
		abbreviation, offset := time.Unix(clock+shift, 0).In(z.location).Zone()
		if abbreviation == name {
			return int64(offset), true
		}
	}
	return 0, false
}
