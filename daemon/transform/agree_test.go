package transform

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fields of the records that random expressions run over. Each row draws a value for each; mixed has values of any nature.
var fieldValues = map[string][]string{
	"i":     {"0", "1", "-3", "7", "9223372036854775807", "-9223372036854775808", "null"},
	"n":     {"1", "2", "5"},
	"f":     {"0.5", "-2.25", "1e300", "7.0", "null"},
	"g":     {"0.5", "1.5", "0.0"},
	"s":     {`"a"`, `"ab"`, `"Ä"`, `""`, "null"},
	"b":     {"true", "false", "null"},
	"at":    {`{"$time": 1700000000000}`, `{"$time": -1}`, "null"},
	"l":     {"[1, 2]", "[]", `["a", null]`, "null"},
	"mixed": {"1", "2.5", `"a"`, "true", "null", "[1]", `{"k": 1}`, `{"$time": 5}`, `{"$missing": true}`, "18446744073709551615", "1e999"},
}

func drawRows(t *rapid.T, most int) []string {
	rows := make([]string, rapid.IntRange(1, most).Draw(t, "rows"))
	for i := range rows {
		var parts []string
		for _, name := range []string{"i", "n", "f", "g", "s", "b", "at", "l", "mixed"} {
			parts = append(parts, fmt.Sprintf("%q: %s", name, rapid.SampledFrom(fieldValues[name]).Draw(t, name)))
		}
		rows[i] = "{" + strings.Join(parts, ", ") + "}"
	}
	return rows
}

// drawExpression makes an expression that parses; what it means may be nonsense.
func drawExpression(t *rapid.T, depth int) string {
	leaf := rapid.SampledFrom([]string{
		"i", "n", "f", "g", "s", "b", "at", "l", "mixed", "absent", "mixed.k", "nil", "true", "false", "0", "1", "7", "-3", "0.5", "1e300", `"a"`, `""`,
		"9223372036854775807", "9007199254740993", "[1, 2]", `["a", "ab", "b", "c", "d"]`,
	})
	if depth == 0 {
		return leaf.Draw(t, "leaf")
	}
	sub := func() string { return drawExpression(t, rapid.IntRange(0, depth-1).Draw(t, "depth")) }
	switch rapid.IntRange(0, 9).Draw(t, "form") {
	case 0:
		return leaf.Draw(t, "leaf")
	case 1, 2:
		op := rapid.SampledFrom([]string{"==", "!=", "<", "<=", ">", ">="}).Draw(t, "op")
		return "(" + sub() + " " + op + " " + sub() + ")"
	case 3, 4:
		op := rapid.SampledFrom([]string{"+", "-", "*", "/", "%", "**"}).Draw(t, "op")
		return "(" + sub() + " " + op + " " + sub() + ")"
	case 5, 6:
		op := rapid.SampledFrom([]string{"and", "or", "??", "in", "contains", "startsWith"}).Draw(t, "op")
		return "(" + sub() + ") " + op + " (" + sub() + ")"
	case 7:
		return rapid.SampledFrom([]string{"not (", "-("}).Draw(t, "sign") + sub() + ")"
	case 8:
		return "((" + sub() + ") ? (" + sub() + ") : (" + sub() + "))"
	}
	f := rapid.SampledFrom([]string{"len", "lower", "abs", "string", "int", "type", "max"}).Draw(t, "function")
	return f + "(" + sub() + ")"
}

// TestColumnsAgreeWithRows computes random expressions over random rows in columns, row by row, and in other batches.
func TestColumnsAgreeWithRows(t *testing.T) {
	compiled := 0
	rapid.Check(t, func(t *rapid.T) {
		source := drawExpression(t, 3)
		p, mistakes := Compile(source, Schema{}, TypeAny)
		if mistakes != nil {
			return
		}
		compiled++
		rows := drawRows(t, 8)
		fast := run(p, records(t, rows...))
		require.Equal(t, rowwise(t, p, rows...), fast, source)

		k := rapid.IntRange(0, len(rows)).Draw(t, "cut")
		var parts []string
		e := p.Evaluator() // one evaluator for all batches
		for _, part := range [][]string{rows[:k], rows[k:]} {
			b := records(t, part...)
			out := b.AddColumn("result")
			e.Eval(b, out)
			for i := range b.N {
				parts = append(parts, show(b, out, i))
			}
			for _, bad := range b.Bad {
				parts[len(parts)-b.N+int(bad.Row)] = "! " + strings.TrimPrefix(bad.Message, p.label+": ")
			}
		}
		if !strings.Contains(strings.Join(fast, " "), "missing") { // a field that no row of a batch has is missing instead of null
			require.Equal(t, fast, parts, source)
		}

		// A selection: the rows outside of it do not matter.
		b := records(t, rows...)
		sel := b.Select()
		kept := sel[:0]
		for _, row := range sel {
			if rapid.Bool().Draw(t, "alive") {
				kept = append(kept, row)
			}
		}
		b.Sel = kept
		alive := append([]uint32(nil), kept...)
		got := run(p, b)
		for _, row := range alive {
			require.Equal(t, fast[row], got[row], source)
		}
	})
	require.Positive(t, compiled)
}

// TestAgreesWithExpr compares with expr's own machine where the meanings are the same: no nulls, small numbers, values of one
// nature.
func TestAgreesWithExpr(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var number func(depth int) string
		number = func(depth int) string {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				return rapid.SampledFrom([]string{"a", "b", "x", "1", "2", "3.5"}).Draw(t, "number")
			}
			op := rapid.SampledFrom([]string{"+", "-", "*"}).Draw(t, "op")
			return "(" + number(depth-1) + " " + op + " " + number(depth-1) + ")"
		}
		var condition func(depth int) string
		condition = func(depth int) string {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				if rapid.Bool().Draw(t, "text") {
					op := rapid.SampledFrom([]string{"==", "!=", "<", ">=", "contains", "startsWith", "endsWith"}).Draw(t, "op")
					return "(s " + op + ` "b")`
				}
				op := rapid.SampledFrom([]string{"==", "!=", "<", "<=", ">", ">="}).Draw(t, "op")
				return "(" + number(2) + " " + op + " " + number(2) + ")"
			}
			if rapid.Bool().Draw(t, "not") {
				return "not (" + condition(depth-1) + ")"
			}
			op := rapid.SampledFrom([]string{"and", "or"}).Draw(t, "op")
			return "(" + condition(depth-1) + " " + op + " " + condition(depth-1) + ")"
		}
		source := condition(3)
		a, b := rapid.Int64Range(-50, 50).Draw(t, "a"), rapid.Int64Range(-50, 50).Draw(t, "b")
		x := float64(rapid.IntRange(-20, 20).Draw(t, "x")) / 4
		s := rapid.SampledFrom([]string{"", "a", "b", "ab", "ba"}).Draw(t, "s")
		want, err := expr.Eval(source, map[string]any{"a": int(a), "b": int(b), "x": x, "s": s})
		require.NoError(t, err, source)
		row := fmt.Sprintf(`{"a": %d, "b": %d, "x": %s, "s": %q}`, a, b, appendFloat(nil, x), s)
		require.Equal(t, []string{fmt.Sprint(want)}, eval(t, source, Schema{}, row), source)
	})
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		`status >= 500 and path startsWith "/api"`, `a ?? b.c[0] ?? "x"`, `filter(items, .price > 10 and any(.tags, # == "x"))`,
		`let x = int(n); x ** 2`, `user["a.b"] in ["x", 'y', ` + "`z`" + `]`, `-9223372036854775807 - 1`, `$env["x y"] matches "^a+$"`, `{a: 1, "b": [nil, 2.5e3]}`,
		`if a { b } else { c }`, `s[1:-1] | lower() | split(",")`, `truncate(at, "1h") + duration("5m")`, `not not a`, `a?.b?.[0]`, "1 < 2 < 3", "0x1F & 1", "((((((",
	} {
		f.Add(s)
	}
	rows := []string{
		`{"a": 1, "b": true, "s": "a,b", "items": [{"price": 11, "tags": ["x"]}], "at": {"$time": 1700000000000}, "n": "5", "status": 500, "path": "/api"}`,
		`{"a": null, "b": {"c": [1]}, "s": "", "items": [], "n": 2.5, "status": "x", "user": {"a.b": "x"}}`,
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, mistakes := Compile(source, Schema{}, TypeAny)
		for _, m := range mistakes {
			if m.Offset < 0 || m.Offset > len([]rune(source)) || m.Width < 1 || m.Summary == "" {
				t.Fatalf("%q: %+v", source, m)
			}
		}
		if mistakes != nil {
			return
		}
		fast, slow := run(p, records(t, rows...)), rowwise(t, p, rows...)
		require.Equal(t, slow, fast, source)
	})
}

func TestMultiplyKnowsWhatFits(t *testing.T) {
	edges := []int64{0, 1, -1, 2, -2, 3037000499, 3037000500, -3037000500, 1 << 31, 1 << 32, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1}
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.OneOf(rapid.SampledFrom(edges), rapid.Int64(), rapid.Int64Range(-1<<33, 1<<33))
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		product := bigOf(intValue(a))
		product.Mul(product, bigOf(intValue(b)))
		p, ok := multiply(a, b)
		require.Equal(t, product.IsInt64(), ok)
		if ok {
			require.Equal(t, product.Int64(), p)
		}
		m := &machine{}
		for _, op := range []byte{'+', '-'} {
			exact := bigOf(intValue(a))
			if op == '+' {
				exact.Add(exact, bigOf(intValue(b)))
			} else {
				exact.Sub(exact, bigOf(intValue(b)))
			}
			switch v := m.wholes(op, a, b); {
			case exact.IsInt64():
				require.Equal(t, intValue(exact.Int64()), v)
			case exact.IsUint64():
				require.Equal(t, uintValue(exact.Uint64()), v)
			default:
				require.Equal(t, failed, v.kind)
			}
		}
	})
}
