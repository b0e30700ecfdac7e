package aggregate

import "strings"

// partKey names an accumulator that results can share.
type partKey struct {
	kind  string
	arg   string
	limit int
}

// parts builds the accumulators of a layout, each once.
type parts struct {
	layout *Layout
	known  map[partKey]accumulator
}

func part[A accumulator](p parts, key partKey, build func() A) A {
	if a, ok := p.known[key]; ok {
		return a.(A)
	}
	a := build()
	p.known[key] = a
	p.layout.accs = append(p.layout.accs, a)
	return a
}

func (p parts) sum(arg string, skipped *uint64) *sumAcc {
	return part(p, partKey{kind: "sum", arg: arg}, func() *sumAcc { return &sumAcc{arg: arg, skipped: skipped} })
}

func (p parts) squares(arg string) *sumAcc {
	return part(p, partKey{kind: "squares", arg: arg}, func() *sumAcc { return &sumAcc{arg: arg, square: true} })
}

func (p parts) numbers(arg string) *countAcc {
	return part(p, partKey{kind: "numbers", arg: arg}, func() *countAcc { return &countAcc{arg: arg, numbers: true} })
}

func (p parts) output(s Spec, skipped *uint64) output {
	key := partKey{kind: s.Func, arg: s.Arg, limit: s.limit()}
	if s.Func == RowsFunc {
		key.arg = strings.Join(s.Args, "\x00")
		return part(p, key, func() *rowsAcc { return &rowsAcc{args: s.Args, limit: s.limit()} })
	}
	switch s.Func {
	case "count":
		return part(p, key, func() *countAcc { return &countAcc{arg: s.Arg} })
	case "sum":
		return p.sum(s.Arg, skipped)
	case "avg":
		return &mean{p.sum(s.Arg, skipped), p.numbers(s.Arg)}
	case "variance", "stddev":
		return &spread{p.sum(s.Arg, skipped), p.squares(s.Arg), p.numbers(s.Arg), s.Func == "stddev"}
	case "min":
		return part(p, key, func() *extremeAcc { return &extremeAcc{arg: s.Arg, sign: 1} })
	case "max":
		return part(p, key, func() *extremeAcc { return &extremeAcc{arg: s.Arg, sign: -1} })
	case "first":
		return part(p, key, func() *edgeAcc { return &edgeAcc{arg: s.Arg} })
	case "last":
		return part(p, key, func() *edgeAcc { return &edgeAcc{arg: s.Arg, last: true} })
	case "count_distinct":
		return part(p, key, func() *distinctAcc { return &distinctAcc{arg: s.Arg, limit: s.limit()} })
	case "median":
		return &quantile{p.histogram(s.Arg, skipped), 0.5}
	case "quantile":
		return &quantile{p.histogram(s.Arg, skipped), s.P}
	case "collect":
		return part(p, key, func() *collectAcc { return &collectAcc{arg: s.Arg, limit: s.limit()} })
	case "top":
		return &topList{part(p, key, func() *topAcc { return &topAcc{arg: s.Arg, limit: s.limit()} }), s.K}
	}
	panic("aggregate: a function that checks but is not built: " + s.Func)
}

func (p parts) histogram(arg string, skipped *uint64) *histogramAcc {
	return part(p, partKey{kind: "histogram", arg: arg}, func() *histogramAcc { return &histogramAcc{arg: arg, skipped: skipped} })
}
