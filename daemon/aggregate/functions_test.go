package aggregate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFunctions(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	q := func(p float64) Spec { return Spec{Name: "r", Func: "quantile", Arg: "v", P: p} }
	for _, c := range []struct {
		fact string
		spec Spec
		in   []any
		want string
	}{
		{"count counts rows, whatever is in them", Spec{Name: "r", Func: "count"}, []any{1, nil, missing{}}, "3"},
		{"count of a field counts what is not null", one("count"), []any{1, nil, missing{}, "x", nan}, "3"},
		{"count of nothing is zero", one("count"), nil, "0"},

		{"sum of nothing is null", one("sum"), []any{nil, missing{}}, "null"},
		{"sum of integers is an integer", one("sum"), []any{1, 2, nil, -5}, "-2"},
		{"sum beyond int64 is unsigned", one("sum"), []any{math.MaxInt64, 1}, "9223372036854775808u"},
		{"sum beyond uint64 keeps all digits", one("sum"), []any{uint64(math.MaxUint64), uint64(math.MaxUint64)}, "`36893488147419103230`"},
		{"sum below int64 keeps all digits", one("sum"), []any{math.MinInt64, -1}, "`-9223372036854775809`"},
		{"sum that comes back into range is an integer again", one("sum"), []any{math.MaxInt64, math.MaxInt64, math.MinInt64, math.MinInt64}, "-2"},
		{"sum takes integers of any length", one("sum"), []any{jsonText("123456789012345678901234567890"), 1}, "`123456789012345678901234567891`"},
		{"sum of long integers that cancel is an int", one("sum"), []any{jsonText("123456789012345678901234567890"), jsonText("-123456789012345678901234567880")}, "10"},
		{"sum with a float is a float", one("sum"), []any{1, 2.5}, "3.5"},
		{"sum of whole floats stays a float", one("sum"), []any{1.0, 2.0}, "3.0"},
		{"sum rounds once", one("sum"), []any{1e100, 1.0, -1e100}, "1.0"},
		{"sum of tenths", one("sum"), []any{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1}, "1.0"},
		{"sum passes through values beyond all floats", one("sum"), []any{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, -math.MaxFloat64, 3.0}, "3.0"},
		{"sum beyond all floats is infinite", one("sum"), []any{math.MaxFloat64, math.MaxFloat64}, "+Inf"},
		{"sum mixes big integers and floats exactly", one("sum"), []any{math.MaxInt64, 0.5, -9223372036854775807}, "0.5"},
		{"sum of minus zero is zero", one("sum"), []any{math.Copysign(0, -1), math.Copysign(0, -1)}, "0.0"},
		{"sum with an infinity", one("sum"), []any{1, inf, 2.5}, "+Inf"},
		{"sum of both infinities is NaN", one("sum"), []any{inf, -inf}, "NaN"},
		{"sum with NaN is NaN", one("sum"), []any{1, nan, 3}, "NaN"},
		{"sum counts true as one", one("sum"), []any{true, false, true}, "2"},
		{"sum skips text and times", one("sum"), []any{"7", millis(9), 1}, "1"},
		{"sum of only text is null", one("sum"), []any{"7"}, "null"},

		{"avg", one("avg"), []any{1, 2, nil, 3, 4}, "2.5"},
		{"avg of nothing is null", one("avg"), []any{nil, "x"}, "null"},
		{"avg is a float even when whole", one("avg"), []any{2, 4}, "3.0"},
		{"avg of booleans is a rate", one("avg"), []any{true, false, false, false}, "0.25"},
		{"avg of values whose sum is beyond all floats", one("avg"), []any{math.MaxFloat64, math.MaxFloat64}, "1.7976931348623157e+308"},
		{"avg does not count what it skips", one("avg"), []any{4, "x", millis(1)}, "4.0"},

		{"variance is of the sample", one("variance"), []any{2, 4, 4, 4, 5, 5, 7, 9}, "4.571428571428571"},
		{"stddev is of the sample", one("stddev"), []any{1, 3}, "1.4142135623730951"},
		{"variance of one value is null", one("variance"), []any{2}, "null"},
		{"variance of equal values is exactly zero", one("variance"), []any{0.1, 0.1, 0.1}, "0.0"},
		{"variance far from zero loses no digit", one("variance"), []any{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}, "30.0"},
		{"stddev of tiny values does not underflow", one("stddev"), []any{1e-300, 3e-300}, "1.4142135623730952e-300"},
		{"stddev of huge values does not overflow", one("stddev"), []any{1e300, 3e300}, "1.4142135623730952e+300"},
		{"variance with NaN is NaN", one("variance"), []any{1, 2, nan}, "NaN"},
		{"variance of the largest integers is exact", one("variance"), []any{uint64(math.MaxUint64), uint64(math.MaxUint64 - 2)}, "2.0"},

		{"min", one("min"), []any{3, 1, 2}, "1"},
		{"max", one("max"), []any{3, nil, 7, 2}, "7"},
		{"min of nothing is null", one("min"), []any{nil}, "null"},
		{"min mixes integers and floats by value", one("min"), []any{2, 1.5, 3}, "1.5"},
		{"max compares big integers and floats exactly", one("max"), []any{9007199254740993, 9007199254740992.0}, "9007199254740993"},
		{"min of equal values is the integer", one("min"), []any{1.0, 1}, "1"},
		{"max of equal values is the float", one("max"), []any{1, 1.0}, "1.0"},
		{"min ignores NaN", one("min"), []any{nan, 2.0}, "2.0"},
		{"max is NaN when there is one", one("max"), []any{2.0, nan, 3.0}, "NaN"},
		{"min of texts is by bytes", one("min"), []any{"pear", "apple", "Zoo"}, `"Zoo"`},
		{"max of kinds: texts are above numbers", one("max"), []any{"a", 5, true}, `"a"`},
		{"min of kinds: booleans are below numbers", one("min"), []any{"a", -5, true}, "true"},
		{"min of times is a time", one("min"), []any{millis(7), millis(-3)}, "@-3"},
		{"max of unsigned", one("max"), []any{uint64(math.MaxUint64), math.MaxInt64, 1e19}, "18446744073709551615u"},

		{"median of an odd number", one("median"), []any{5, 1, 3}, "3.0"},
		{"median of an even number is between", one("median"), []any{1, 2}, "1.5"},
		{"median of nothing is null", one("median"), []any{nil, "x", nan}, "null"},
		{"quantile interpolates", q(0.9), []any{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "9.1"},
		{"quantile 0 is the lowest", q(0), []any{3, 9, -2}, "-2.0"},
		{"quantile 1 is the highest", q(1), []any{3, 9, -2}, "9.0"},
		{"quantile of infinities does not make NaN", q(0.5), []any{inf, inf}, "+Inf"},

		{"first by arrival among equal times", one("first"), []any{"a", "b"}, `"a"`},
		{"last", one("last"), []any{"a", 5}, "5"},
		{"first skips null", one("first"), []any{nil, "b"}, `"b"`},
		{"last of nothing is null", one("last"), []any{nil}, "null"},

		{"count_distinct counts values once", one("count_distinct"), []any{1, 1.0, "1", "1", nil, true, millis(1)}, "4"},
		{"count_distinct of nothing is zero", one("count_distinct"), []any{nil}, "0"},
		{"count_distinct knows one NaN and one zero", one("count_distinct"), []any{nan, -nan, 0.0, math.Copysign(0, -1)}, "2"},

		{"collect keeps kinds", one("collect"), []any{1, 2.5, "a\"b\n", nil, true, millis(0), jsonText(`{"x":1}`), nan}, "`[1,2.5,\"a\\\"b\\n\",true,\"1970-01-01T00:00:00.000Z\",{\"x\":1},\"NaN\"]`"},
		{"collect of nothing is empty", one("collect"), []any{nil}, "`[]`"},

		{"top is by count, then value", Spec{Name: "r", Func: "top", Arg: "v", K: 2}, []any{"b", "a", "c", "c", "a", "b", "c"}, "`[{\"value\":\"c\",\"count\":3},{\"value\":\"a\",\"count\":2}]`"},
		{"top takes equal numbers together", Spec{Name: "r", Func: "top", Arg: "v", K: 5}, []any{1, 1.0, 2}, "`[{\"value\":1,\"count\":2},{\"value\":2,\"count\":1}]`"},
	} {
		t.Run(c.fact, func(t *testing.T) {
			require.Equal(t, c.want, run(t, c.spec, c.in...))
		})
	}
}

func TestFirstAndLastGoByEventTime(t *testing.T) {
	x := newTable(t, 1, Spec{Name: "f", Func: "first", Arg: "v"}, Spec{Name: "l", Func: "last", Arg: "v"})
	b := values("a", "b", "c", "d", "e")
	b.Times = []int64{5, 2, 9, 2, 9}
	x.add(0, b)
	require.Equal(t, []string{`"b"`, `"e"`}, x.result(0))
}

func TestCollectIsBoundedAndSaysSo(t *testing.T) {
	x := newTable(t, 1, Spec{Name: "r", Func: "collect", Arg: "v", Limit: 3})
	b := values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	b.Times = []int64{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}
	x.add(0, b)
	require.Equal(t, []string{"`[9,8,7]`", "7"}, x.result(0))
	require.Equal(t, []string{"r", "r_omitted"}, x.l.Columns())
}

func TestSkippedCellsAreCounted(t *testing.T) {
	x := newTable(t, 1,
		Spec{Name: "n", Func: "count", Arg: "v"}, Spec{Name: "s", Func: "sum", Arg: "v"},
		Spec{Name: "a", Func: "avg", Arg: "v"}, Spec{Name: "m", Func: "median", Arg: "v"})
	x.add(0, values("x", nil, 3, millis(4), jsonText("[]"), math.NaN()))
	require.Equal(t, []uint64{0, 3, 0, 4}, x.l.Skipped())
	require.Equal(t, []string{"5", "NaN", "NaN", "3.0"}, x.result(0))
}

func TestFourAggregatesOfAColumnTakeFiveWords(t *testing.T) {
	x := newTable(t, 1, Spec{Name: "c", Func: "count"}, one("sum"), Spec{Name: "lo", Func: "min", Arg: "v"}, Spec{Name: "hi", Func: "max", Arg: "v"})
	require.Equal(t, 5, x.l.Words())
}

func TestSharedPartsAreStoredOnce(t *testing.T) {
	x := newTable(t, 1, one("sum"), Spec{Name: "a", Func: "avg", Arg: "v"}, Spec{Name: "sd", Func: "stddev", Arg: "v"}, Spec{Name: "var", Func: "variance", Arg: "v"})
	require.Equal(t, 5, x.l.Words()) // sum 2, number 1, squares 2
}

func TestManyFlagsGetWordsOfTheirOwn(t *testing.T) {
	var specs []Spec
	for _, f := range []string{"min", "max", "first", "last"} {
		for _, arg := range []string{"v", "w", "u"} {
			specs = append(specs, Spec{Name: f + arg, Func: f, Arg: arg})
		}
	}
	x := newTable(t, 2, specs...)
	x.add(1, values(3, "a", 2.5))
	require.Equal(t, "2.5", x.result(1)[0])
	require.Equal(t, `"a"`, x.result(1)[3])
	require.Equal(t, "null", x.result(0)[0])
	for e := range 2 {
		require.Equal(t, []uint64{0xdeadbeef, 1, 2}, []uint64{x.mem[x.at(e)] & 0xffffffff, x.mem[x.at(e)+1], x.mem[x.at(e)+2]})
	}
}

func TestSpecsAreChecked(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "r", Func: "summ", Arg: "v"}, `there is no aggregate function "summ"`},
		{Spec{Func: "count"}, "the result of count has no name"},
		{Spec{Name: "r", Func: "sum"}, "sum needs a field"},
		{Spec{Name: "r", Func: "quantile", Arg: "v", P: 1.5}, "quantile: p is 1.5, it must be between 0 and 1"},
		{Spec{Name: "r", Func: "quantile", Arg: "v", P: math.NaN()}, "quantile: p is NaN, it must be between 0 and 1"},
		{Spec{Name: "r", Func: "top", Arg: "v"}, "top: k is 0, it must be between 1 and 32767"},
		{Spec{Name: "r", Func: "top", Arg: "v", K: 9, Limit: 5}, "top: the bound 5 is below k = 9"},
		{Spec{Name: "r", Func: "sum", Arg: "v", Limit: 5}, "sum has no bound"},
		{Spec{Name: "r", Func: "collect", Arg: "v", Limit: -1}, "collect: the bound is -1, it must be between 1 and 16777216"},
	} {
		_, err := New([]Spec{c.spec})
		require.EqualError(t, err, c.want)
	}
	_, err := New([]Spec{one("sum"), one("min"), one("nope")})
	require.EqualError(t, err, "two aggregates are called \"r\"\nthere is no aggregate function \"nope\"")
}
