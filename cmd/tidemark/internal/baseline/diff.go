package baseline

import (
	"fmt"
	"time"
)

// Diff lists up to most differences between two sets of rows, in words. A row of one set that the other does not have is found by its key
// and window.
func Diff(want, got func(func(*Row) error) error, most int) ([]string, error) {
	type place struct {
		key        string
		start, end int64
	}
	rows := map[place][]Row{}
	at := func(r *Row) place { return place{r.Key, r.Start, r.End} }
	if err := want(func(r *Row) error { rows[at(r)] = append(rows[at(r)], *r); return nil }); err != nil {
		return nil, err
	}
	var out []string
	tell := func(format string, args ...any) {
		if len(out) < most {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	err := got(func(r *Row) error {
		left := rows[at(r)]
		if len(left) == 0 {
			tell("%s: not expected", r)
			return nil
		}
		for i := range left {
			if left[i] == *r {
				left[0], left[i] = left[i], left[0]
				break
			}
		}
		if left[0] != *r {
			tell("%s: expected %s", r, &left[0])
		}
		if left = left[1:]; len(left) == 0 {
			delete(rows, at(r))
		} else {
			rows[at(r)] = left
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, left := range rows {
		for i := range left {
			tell("%s: missing", &left[i])
		}
	}
	return out, nil
}

// String is for people.
func (r *Row) String() string {
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04:05.000") }
	return fmt.Sprintf("%s [%s, %s) n=%d sum=%s min=%s max=%s", r.Key, at(r.Start), at(r.End), r.N, hundredths(r.Sum), hundredths(r.Min), hundredths(r.Max))
}

func hundredths(c int64) string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}
