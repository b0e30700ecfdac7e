package decode

import "math"

// noDays says that no date has been remembered.
const noDays = math.MinInt64

// clockTime is a date and time of day as somebody wrote it.
type clockTime struct {
	year, month, day     int
	hour, minute, second int
	millis               int
}

// daysFromCivil counts days from 1970-01-01 in the Gregorian calendar, which is extended to all years.
func daysFromCivil(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(int64(y), 400)
	yearOfEra := int64(y) - era*400
	dayOfYear := int64(153*(m-3)+2)/5 + int64(d) - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return era*146097 + dayOfEra - 719468
}

func isLeap(y int) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

// daysIn is the length of a month, 0 when there is no such month.
func daysIn(y, m int) int {
	switch m {
	case 2:
		if isLeap(y) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	case 1, 3, 5, 7, 8, 10, 12:
		return 31
	}
	return 0
}

// seconds counts seconds from 1970 on the clock, whatever its zone. Second 60 is the first of the next minute.
func (c *clockTime) seconds() int64 {
	return daysFromCivil(c.year, c.month, c.day)*86400 + int64(c.hour*3600+c.minute*60+c.second)
}

// check says what is wrong with the numbers of c, nothing when they are a date and a time of day.
func (c *clockTime) check() string {
	switch {
	case c.month < 1 || c.month > 12:
		return "there is no such month"
	case c.day < 1 || c.day > daysIn(c.year, c.month):
		return "there is no such day"
	}
	return c.checkClock()
}

func (c *clockTime) checkClock() string {
	switch {
	case c.hour > 23:
		return "there is no such hour"
	case c.minute > 59:
		return "there is no such minute"
	case c.second > 60:
		return "there is no such second"
	}
	return ""
}

const problemLeap = "second 60 can only be at 23:59:60 UTC on the last day of a month"

// leapSecond says whether utc, the seconds of a time written with second 60, is where a leap second can be: just after the end
// of a month.
func leapSecond(utc int64) bool {
	if utc%86400 != 0 {
		return false
	}
	_, _, day := civilFromDays(floorDiv(utc, 86400))
	return day == 1
}

// civilFromDays is the date of a day counted from 1970-01-01.
func civilFromDays(z int64) (y, m, d int) {
	z += 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = int(doy - (153*mp+2)/5 + 1)
	m = int(mp + 3)
	if m > 12 {
		m -= 12
	}
	y = int(yoe + era*400)
	if m <= 2 {
		y++
	}
	return y, m, d
}
