package aggregate

import (
	"errors"
	"fmt"
	"math"
)

// Spec is one aggregate of an operator.
type Spec struct {
	Name  string  // the result's column
	Func  string  // one of Funcs
	Arg   string  // the column it reads; empty only for count, which then counts rows
	P     float64 // quantile: 0..1
	K     int     // top: how many values
	Limit int     // count_distinct, collect, top, rows: the bound; 0 = the function's default
	// Args are the columns that RowsFunc keeps, in order; it has no Arg.
	Args []string
}

// Func describes an aggregate function for checking and for documentation.
type Func struct {
	Name     string
	Arg      bool // takes a column
	Optional bool // the column may be left out
	Numbers  bool // takes numbers and booleans only, and skips whatever else it is given
	P, K     bool // needs Spec.P, Spec.K
	Limit    int  // the default bound, 0 when the function has none
	Help     string
}

// Default bounds.
const (
	DefaultDistinct = 1000  // count_distinct is exact up to this many values
	DefaultCollect  = 1000  // collect keeps this many values
	DefaultTop      = 10000 // top counts exactly up to this many different values
	maxLimit        = 1 << 24
)

// Funcs lists the aggregate functions in the order in which the documentation shows them.
func Funcs() []Func {
	return []Func{
		{Name: "count", Arg: true, Optional: true, Help: "the number of rows; with a field, of rows where it is not null"},
		{Name: "count_distinct", Arg: true, Limit: DefaultDistinct, Help: "the number of different values, exact up to the bound (by 64-bit hash), beyond it a HyperLogLog estimate with a standard error of 0.8 %"},
		{Name: "sum", Arg: true, Numbers: true, Help: "the exact sum: an integer of any length when all values are integers, else the float nearest to the exact sum"},
		{Name: "min", Arg: true, Help: "the lowest value"},
		{Name: "max", Arg: true, Help: "the highest value"},
		{Name: "avg", Arg: true, Numbers: true, Help: "the mean, from the exact sum"},
		{Name: "stddev", Arg: true, Numbers: true, Help: "the sample standard deviation (n-1), from exact sums; null for fewer than two values"},
		{Name: "variance", Arg: true, Numbers: true, Help: "the sample variance (n-1), from exact sums; null for fewer than two values"},
		{Name: "median", Arg: true, Numbers: true, Help: "quantile 0.5"},
		{Name: "quantile", Arg: true, Numbers: true, P: true, Help: "the quantile p: exact and interpolated up to 128 different values, beyond that within 0.8 % of a value of that rank; NaN is skipped; of integers, those of up to 64 bits are given exactly, and larger ones count as the float nearest to them"},
		{Name: "first", Arg: true, Help: "the value of the row with the lowest event time; of several, the one that arrived first"},
		{Name: "last", Arg: true, Help: "the value of the row with the highest event time; of several, the one that arrived last"},
		{Name: "collect", Arg: true, Limit: DefaultCollect, Help: "the values as a JSON array, ordered by event time, then arrival; the first ones up to the bound, and how many are left out in NAME_omitted"},
		{Name: "top", Arg: true, K: true, Limit: DefaultTop, Help: "the k most frequent values as a JSON array of {value, count}; exact up to the bound of different values, beyond it low by at most rows/(bound+1)"},
	}
}

// Lookup finds a function by name.
func Lookup(name string) (Func, bool) {
	for _, f := range Funcs() {
		if f.Name == name {
			return f, true
		}
	}
	return Func{}, false
}

// Check says what is wrong with s, or nil.
func (s Spec) Check() error {
	if s.Func == RowsFunc {
		if s.Limit < 0 || s.Limit > maxLimit {
			return fmt.Errorf("the bound is %d rows, it must be between 1 and %d", s.Limit, maxLimit)
		}
		return nil
	}
	f, ok := Lookup(s.Func)
	switch {
	case !ok:
		return fmt.Errorf("there is no aggregate function %q", s.Func)
	case s.Name == "":
		return fmt.Errorf("the result of %s has no name", s.Func)
	case s.Arg == "" && !f.Optional:
		return fmt.Errorf("%s needs a field", s.Func)
	case f.P && !(s.P >= 0 && s.P <= 1):
		return fmt.Errorf("%s: p is %v, it must be between 0 and 1", s.Func, s.P)
	case f.K && (s.K < 1 || s.K > math.MaxInt16):
		return fmt.Errorf("%s: k is %d, it must be between 1 and %d", s.Func, s.K, math.MaxInt16)
	case s.Limit < 0 || s.Limit > maxLimit:
		return fmt.Errorf("%s: the bound is %d, it must be between 1 and %d", s.Func, s.Limit, maxLimit)
	case s.Limit != 0 && f.Limit == 0:
		return fmt.Errorf("%s has no bound", s.Func)
	case f.K && s.limit() < s.K:
		return fmt.Errorf("%s: the bound %d is below k = %d", s.Func, s.limit(), s.K)
	}
	return nil
}

// limit is the bound in force.
func (s Spec) limit() int {
	if s.Limit != 0 {
		return s.Limit
	}
	if s.Func == RowsFunc {
		return DefaultRows
	}
	f, _ := Lookup(s.Func)
	return f.Limit
}

func checkAll(specs []Spec) error {
	var errs []error
	names := make(map[string]bool, len(specs))
	for _, s := range specs {
		if err := s.Check(); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, name := range s.columns() {
			if names[name] {
				errs = append(errs, fmt.Errorf("two aggregates are called %q", name))
			}
			names[name] = true
		}
	}
	return errors.Join(errs...)
}

// columns are the result columns of s.
func (s Spec) columns() []string {
	if s.Func == "collect" {
		return []string{s.Name, s.Name + "_omitted"}
	}
	return []string{s.Name}
}
