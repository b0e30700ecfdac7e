package baseline

import (
	"io"
	"math"
	"slices"
)

// Sliding counts and sums per key and window of size ms, a window every slide ms. Size is a multiple of slide. It keeps everything to the
// end, and adds up each window from its slices anew.
func Sliding(in io.Reader, size, slide int64, emit func(Row)) error {
	parts := map[int64]map[string]*acc{} // by start
	err := each(in, func(e event) {
		start := e.ts - e.ts%slide
		keys := parts[start]
		if keys == nil {
			keys = map[string]*acc{}
			parts[start] = keys
		}
		a := keys[string(e.key)]
		if a == nil {
			a = newAcc()
			keys[string(e.key)] = a
		}
		a.add(e.cents)
	})
	if err != nil || len(parts) == 0 {
		return err
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for start := range parts {
		first, last = min(first, start), max(last, start)
	}
	for start := first - size + slide; start <= last; start += slide {
		window := map[string]*acc{}
		for at := start; at < start+size; at += slide {
			for key, a := range parts[at] {
				if window[key] == nil {
					window[key] = newAcc()
				}
				window[key].merge(a)
			}
		}
		for key, a := range window {
			emit(Row{key, start, start + size, a.n, a.sum, a.min, a.max})
		}
	}
	return nil
}

// Sessions counts per key and session with a gap of gap ms. A record belongs to the sessions of its key that it overlaps or touches, and
// joins them into one; a session that the watermark (highest time - bound - 1) has passed is over and takes nothing more.
func Sessions(in io.Reader, gap, bound int64, emit func(Row)) error {
	open := map[string][]Row{}
	highest := int64(math.MinInt64)
	err := each(in, func(e event) {
		mine := open[string(e.key)]
		s := Row{Start: e.ts, End: e.ts + gap, N: 1}
		if len(mine) > 0 {
			s.Key = mine[0].Key
		} else {
			s.Key = string(e.key)
		}
		mine = slices.DeleteFunc(mine, func(old Row) bool {
			switch {
			case old.End-1 <= highest-bound-1:
				emit(old)
				return true
			case old.Start <= s.End && s.Start <= old.End:
				s.Start, s.End, s.N = min(s.Start, old.Start), max(s.End, old.End), s.N+old.N
				return true
			}
			return false
		})
		open[s.Key] = append(mine, s)
		highest = max(highest, e.ts)
	})
	for _, sessions := range open {
		for _, s := range sessions {
			emit(s)
		}
	}
	return err
}

// Stateless gives the records with a value above 500.
func Stateless(in io.Reader, emit func(Row)) error {
	return each(in, func(e event) {
		if e.cents > 500_00 {
			emit(Row{string(e.key), e.ts, e.ts, 1, e.cents, e.cents, e.cents})
		}
	})
}
