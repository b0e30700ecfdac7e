package decode

import (
	"fmt"
	"strings"
)

// table says which column of a delimited or csv row goes to which fields.
type table struct {
	names       []string
	types       []Type  // of each column, for Spec.Whole
	shadowed    []bool  // columns whose name comes again, for Spec.Whole: the last one counts
	want        [][]int // fields that want the column
	absent      []int   // fields that no column has
	last        int     // highest column that is wanted, -1 for none
	extraReject bool
	shortReject bool
}

func newTable(names []string, fields []field, spec *Spec) *table {
	t := &table{
		names:       names,
		types:       make([]Type, len(names)),
		shadowed:    make([]bool, len(names)),
		want:        make([][]int, len(names)),
		last:        -1,
		extraReject: spec.Extra == "reject",
		shortReject: spec.Short == "reject",
	}
	for i := range fields {
		at := -1
		for c, name := range names {
			if name == fields[i].flat { // where a name stands twice, the last one counts, as everywhere
				at = c
			}
		}
		if at < 0 {
			t.absent = append(t.absent, i)
			continue
		}
		t.want[at] = append(t.want[at], i)
		t.last = max(t.last, at)
	}
	last := map[string]int{}
	for c, name := range names {
		if before, again := last[name]; again {
			t.shadowed[before] = true
		}
		last[name] = c
		for _, d := range spec.Declared {
			if d.Path.Flat() == name || d.Name == name {
				t.types[c] = d.Type
			}
		}
	}
	return t
}

// tableRow collects the values of one row.
type tableRow struct {
	*textDecoder
	table *table
	row   int
	n     int  // values so far
	dead  bool // the row has been refused
	long  int  // columns of the first rows that were longer than the table, for a notice
	told  bool // the notice has been given
}

func (r *tableRow) start(i int) {
	r.row, r.n, r.dead = i, 0, false
	if r.whole {
		r.openObject()
	}
}

// add takes the next value. It is false when the rest of the row does not matter: either nobody wants it, or the row has been
// refused.
func (r *tableRow) add(v span) bool {
	t := r.table
	c := r.n
	r.n++
	if c < len(t.want) {
		for _, f := range t.want[c] {
			if !r.put(f, r.row, v) {
				r.dead = true
				return false
			}
		}
		if r.whole && !t.shadowed[c] {
			r.member(t.names[c], v.text, t.types[c])
		}
	}
	return c < t.last || r.whole || t.extraReject || t.shortReject || c < len(t.names)
}

// finish ends the row after its last value.
func (r *tableRow) finish() {
	t := r.table
	switch {
	case r.dead:
		return
	case r.n > len(t.names):
		if t.extraReject {
			r.bad.refuse(r.row, CodeColumns, columnsMessage(r.n, len(t.names)))
			return
		}
		if !r.told {
			r.long = max(r.long, r.n)
		}
	case r.n < len(t.names):
		if t.shortReject {
			r.bad.refuse(r.row, CodeColumns, columnsMessage(r.n, len(t.names)))
			return
		}
		for _, fields := range t.want[r.n:] {
			for _, f := range fields {
				r.missing(f, r.row)
			}
		}
	}
	for _, f := range t.absent {
		r.missing(f, r.row)
	}
	if r.whole {
		r.closeObject(r.row)
	}
}

// notice tells once about rows with more columns than the table has.
func (r *tableRow) notice() (Notice, bool) {
	if r.long == 0 {
		return Notice{}, false
	}
	n := Notice{Code: NoticeExtraColumns, Message: fmt.Sprintf("rows have up to %d columns where %d are named (%s); the others are ignored. extra = \"reject\" refuses such rows",
		r.long, len(r.table.names), strings.Join(r.table.names, ", "))}
	r.long, r.told = 0, true
	return n, true
}

func columnsMessage(got, want int) string {
	columns := "columns"
	if got == 1 {
		columns = "column"
	}
	return fmt.Sprintf("the row has %d %s, %d are named", got, columns, want)
}
