package decode

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// number reads a decimal number, with a fraction and an exponent where it has them, as a time. No digit passes through a
// float.
func (t *Timestamps) number(text []byte) (ms int64, problem string) {
	const notANumber = "it is not a number"
	if q, m := digitRun(text, 0, 0); q == len(text) && q > 0 && q <= 18 {
		return t.decimal(m, 0, false, false)
	}
	p, neg := 0, false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		neg = text[0] == '-'
		p++
	}
	var m uint64
	digits, exponent, point, sticky := 0, 0, false, false
	for ; p < len(text); p++ {
		c := text[p]
		if c == '.' && !point {
			point = true
			continue
		}
		if c-'0' > 9 {
			break
		}
		digits++
		switch {
		case m < math.MaxUint64/10-1:
			m = m*10 + uint64(c-'0')
			if point {
				exponent--
			}
		default:
			// More digits than a uint64 holds: the rest only counts for rounding.
			sticky = sticky || c != '0'
			if !point {
				exponent++
			}
		}
	}
	if digits == 0 {
		return 0, notANumber
	}
	if p < len(text) && text[p]|0x20 == 'e' {
		q, e := scanExponent(text, p+1)
		if q < 0 {
			return 0, notANumber
		}
		p = q
		exponent += e
	}
	if p < len(text) {
		return 0, notANumber
	}
	return t.decimal(m, exponent, neg, sticky)
}

// float reads a float as the number that somebody wrote, in all likelihood: the shortest text that gives this float. Its digits
// are then exact, so 1700000000.123 s has its 123 ms, which no float has.
func (t *Timestamps) float(f float64) (ms int64, problem string) {
	if t.kind == timeNumber && t.scale >= 0 {
		unit := powersFloat[t.scale]
		x := f * unit
		near := math.RoundToEven(x)
		if math.Abs(near) < 1e15 {
			// Decimals of up to 15 digits are told apart by their floats, so this is the one.
			if near/unit == f {
				return int64(near), ""
			}
			// Far enough from whole milliseconds, the error of the product cannot matter.
			if down := math.Floor(x); x-down > math.Abs(x)*0x1p-50 && down+1-x > math.Abs(x)*0x1p-50 {
				return int64(down), ""
			}
		}
	}
	var buf [32]byte
	return t.number(strconv.AppendFloat(buf[:0], f, 'e', -1, 64))
}

// decimal makes a time of ±m·10^exponent in the unit. sticky says that the number is a little larger than that, by less than
// one in the last digit of m.
func (t *Timestamps) decimal(m uint64, exponent int, neg, sticky bool) (ms int64, problem string) {
	scale := t.scale
	switch t.kind {
	case timeAuto:
		scale = t.magnitude(m, exponent)
	case timeRFC3339, timeLayout, timeSyslog:
		return 0, problemNumber
	}
	exponent += scale
	for ; exponent > 0 && m != 0; exponent-- {
		hi, lo := bits.Mul64(m, 10)
		if hi != 0 {
			return 0, problemRange
		}
		m = lo
	}
	for ; exponent < 0 && m != 0; exponent++ {
		sticky = sticky || m%10 != 0
		m /= 10
	}
	if neg && sticky {
		m++ // down means away from zero there
	}
	switch {
	case !neg && m < math.MaxInt64:
		return int64(m), ""
	case neg && m < 1<<63:
		return -int64(m), ""
	}
	return 0, problemRange
}

// magnitude is the scale of unit auto for a number of this size.
func (t *Timestamps) magnitude(m uint64, exponent int) int {
	whole := m
	for ; exponent < 0 && whole != 0; exponent++ {
		whole /= 10
	}
	for ; exponent > 0 && whole != 0 && whole < 1e18; exponent-- {
		whole *= 10
	}
	switch {
	case whole < 1e11:
		t.decided(0, UnitSeconds, whole)
		return 3
	case whole < 1e14:
		t.decided(1, UnitMillis, whole)
		return 0
	case whole < 1e17:
		t.decided(2, UnitMicros, whole)
		return -3
	}
	t.decided(3, UnitNanos, whole)
	return -6
}

// decided notes, once for each unit, that unit auto took a number for that unit.
func (t *Timestamps) decided(bit uint, unit string, value uint64) {
	if t.noticed&(1<<bit) == 0 {
		t.noticed |= 1 << bit
		t.notices = append(t.notices, Notice{Code: NoticeDetected + "_" + unit, Message: fmt.Sprintf("unit = \"auto\": numbers like %d are taken for %s; write unit = %q to be sure", value, unit, unit)})
	}
}

const noticeImplausible = 1 << 31

// look examines the first number of a batch: when it lies near 1970 or far in the future, and would be a time of our days in
// another unit, the unit is probably wrong.
func (t *Timestamps) look(b *batch.Batch, c *batch.Column) {
	if t.kind != timeNumber || t.noticed&noticeImplausible != 0 || b.Alive() == 0 {
		return
	}
	first := 0
	if b.Sel != nil {
		first = int(b.Sel[0])
	}
	var v int64
	switch c.Kinds[first] {
	case batch.Int:
		v = int64(c.Bits[first])
	case batch.String:
		q, m := digitRun(b.Text(c.Bits[first]), 0, 0)
		if q == 0 || q > 18 {
			return
		}
		v = int64(m)
	case batch.Float:
		f := math.Float64frombits(c.Bits[first])
		if !(f > 0 && f < 1e18) {
			return
		}
		v = int64(f)
	}
	scales := [...]struct {
		unit  string
		scale int
	}{{UnitSeconds, 3}, {UnitMillis, 0}, {UnitMicros, -3}, {UnitNanos, -6}}
	if v <= 0 || ours(scaled(v, t.scale)) {
		return
	}
	for _, s := range scales {
		if ours(scaled(v, s.scale)) {
			t.noticed |= noticeImplausible
			t.notices = append(t.notices, Notice{Code: NoticeImplausible, Message: fmt.Sprintf(
				"unit = %q makes %s of %d; with unit = %q it would be %s", t.unit, showTime(scaled(v, t.scale)), v, s.unit, showTime(scaled(v, s.scale)))})
			return
		}
	}
}

// scaled is v in ms as a float, which is exact enough to judge it.
func scaled(v int64, scale int) float64 { return float64(v) * math.Pow10(scale) }

// ours says whether a time lies between 1990 and 2100.
func ours(ms float64) bool { return ms >= 631152000000 && ms < 4102444800000 }

func showTime(ms float64) string {
	if ms > 253402300799999 {
		return fmt.Sprintf("the year %.0f", 1970+ms/31556952000)
	}
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05Z")
}

// Notice returns something worth telling about the times seen since the last call.
func (t *Timestamps) Notice() (Notice, bool) {
	if len(t.notices) == 0 {
		return Notice{}, false
	}
	n := t.notices[0]
	t.notices = t.notices[1:]
	return n, true
}
