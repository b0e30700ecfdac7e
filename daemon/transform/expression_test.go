package transform

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExpressions runs testdata/expressions.txt: a record, then lines "expression => value". Each line is computed row by row and in
// columns.
func TestExpressions(t *testing.T) {
	raw, err := os.ReadFile("testdata/expressions.txt")
	require.NoError(t, err)
	record, lines := "{}", 0
	for n, line := range strings.Split(string(raw), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "record "):
			record = strings.TrimPrefix(line, "record ")
			continue
		}
		source, want, ok := strings.Cut(line, " => ")
		require.True(t, ok, "line %d", n+1)
		source = strings.TrimSpace(source)
		lines++
		t.Run(source, func(t *testing.T) {
			// The same record several times, so that columns are more than one row.
			got := eval(t, source, Schema{}, record, record, record)
			require.Equal(t, []string{want, want, want}, got, "line %d", n+1)

			p, _ := Compile(source, Schema{}, TypeAny)
			require.Equal(t, want, rowwise(t, p, record)[0], "line %d, row by row", n+1)
		})
	}
	require.Greater(t, lines, 100)
}

// rowwise computes without any columnar loop.
func rowwise(t require.TestingT, p *Program, rows ...string) []string {
	b := records(t, rows...)
	slow := *p
	slow.root = &slowNode{p.root}
	return run(&slow, b)
}

func TestMistakes(t *testing.T) {
	schema := Schema{Closed: true, Fields: map[string]Type{
		"user": TypeString, "status": TypeInt, "price": TypeFloat, "ok": TypeBool, "at": TypeTime, "items": TypeAny, "country": TypeString, "user-id": TypeInt,
	}}
	raw, err := os.ReadFile("testdata/mistakes.txt")
	require.NoError(t, err)
	var got strings.Builder
	for _, line := range strings.Split(string(raw), "\n") {
		if !strings.HasPrefix(line, "> ") {
			if strings.HasPrefix(line, "#") {
				fmt.Fprintln(&got, line)
			}
			continue
		}
		source := strings.TrimPrefix(line, "> ")
		fmt.Fprintf(&got, "\n> %s\n", source)
		_, mistakes := Compile(source, schema, TypeAny)
		require.NotEmpty(t, mistakes, source)
		for _, m := range mistakes {
			require.LessOrEqual(t, m.Offset, len([]rune(source)))
			fmt.Fprintf(&got, "  %s%s\n  %s: %s\n", strings.Repeat(" ", m.Offset), strings.Repeat("^", m.Width), m.Code, m.Summary)
			if m.Hint != "" {
				fmt.Fprintf(&got, "    %s\n", m.Hint)
			}
		}
	}
	if os.Getenv("REWRITE") != "" {
		require.NoError(t, os.WriteFile("testdata/mistakes.txt", []byte(got.String()), 0o644))
		return
	}
	require.Equal(t, string(raw), got.String(), "REWRITE=1 writes the file anew")
}

func TestWhatAProgramTells(t *testing.T) {
	p, mistakes := Compile(`user.name == "a" and items[0].price > limit or user["x.y"] == $env["a b"] or user.name == nil`, Schema{}, TypeBool)
	require.Empty(t, mistakes)
	require.Equal(t, []string{"user.name", "items[0].price", "limit", `user["x.y"]`, "a b"}, p.Paths())
	require.Equal(t, TypeBool, p.Type())
	f := p.Fields()[2]
	require.Equal(t, []int{38, 5}, []int{f.Offset, f.Width})

	p, mistakes = Compile("a.b", Schema{}, TypeAny)
	require.Empty(t, mistakes)
	path, ok := p.Field()
	require.True(t, ok)
	require.Equal(t, "a.b", path)

	p, mistakes = Compile(`1 + 2 * 3`, Schema{}, TypeAny)
	require.Empty(t, mistakes)
	_, bits, _, ok := p.Constant()
	require.True(t, ok)
	require.EqualValues(t, 7, bits)

	_, mistakes = Compile(`user + 1`, Schema{Fields: map[string]Type{"user": TypeInt}}, TypeBool)
	require.Len(t, mistakes, 1)
	require.Equal(t, "TM5008 at character 1: the expression gives an int; a bool is needed", mistakes.Error())
}

// TestArithmeticIsNoCondition, whatever the fields turn out to be that nothing is known of.
func TestArithmeticIsNoCondition(t *testing.T) {
	for _, source := range []string{"v + 1", "v - w", "(v * 2)", "v > 1 ? v + w : v - 1", "not (v + 1)", "v > 1 and v + 1"} {
		_, mistakes := Compile(source, Schema{}, TypeBool)
		require.Len(t, mistakes, 1, source)
		require.Contains(t, mistakes.Error(), "bool", source)
	}
	for _, source := range []string{"v", "v > 1 ? v : v + 1", "v + 1 > w", "v + w == 'ab'", "v ?? true"} {
		_, mistakes := Compile(source, Schema{}, TypeBool)
		require.Empty(t, mistakes, source)
	}
	_, mistakes := Compile("v + w", Schema{}, TypeBool)
	require.Equal(t, "TM5008 at character 1: the expression gives a number, a string or a timestamp; a bool is needed", mistakes.Error())
}

func TestAFieldIsFoundInTheColumnItLiesIn(t *testing.T) {
	rows := []string{`{"a": {"b": {"c": 1}}}`, `{"a": {"b": [5]}}`, `{"a": 7}`, `{}`}
	require.Equal(t, []string{"1", "null", "null", "null"}, eval(t, "a.b.c", Schema{}, rows...))
	require.Equal(t, []string{"null", "5", "null", "null"}, eval(t, "a.b[0]", Schema{}, rows...))
	// decode gives nested fields columns of their own.
	require.Equal(t, []string{"3", "missing"}, eval(t, "a.b", Schema{}, `{"a.b": 3}`, `{}`))
}

func TestRowsThatCannotBeComputed(t *testing.T) {
	require.Equal(t, []string{"2", "! 9223372036854775807 + 1 does not fit into 64 bits", "4", `! the string "x" + 1: write string(…) around what is not a string`, "null"}[:1],
		eval(t, "a + 1", Schema{}, `{"a": 1}`))
	b := records(t, `{"a": 1}`, `{"a": 18446744073709551615}`, `{"a": 3}`, `{"a": "x"}`, `{"a": null}`)
	p, _ := Compile("a + 1", Schema{}, TypeAny)
	out := b.AddColumn("result")
	require.Equal(t, 2, p.Evaluator().Eval(b, out))
	require.Equal(t, []uint32{0, 2, 4}, b.Sel)
	require.Equal(t, CodeExpression, b.Bad[0].Code)
	require.Equal(t, "a + 1: 18446744073709551615 + 1 does not fit into 64 bits", b.Bad[0].Message)
	require.Equal(t, `a + 1: the string "x" + 1: write string(…) around what is not a string`, b.Bad[1].Message)
}

func TestEveryFunctionHasAnExampleThatCompiles(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range append(Functions(), Predicates()...) {
		require.False(t, seen[f.Name], f.Name)
		seen[f.Name] = true
		require.Contains(t, f.Example, f.Name+"(")
		require.NotEmpty(t, f.Help)
		_, mistakes := Compile(f.Example, Schema{}, TypeAny)
		require.Empty(t, mistakes, f.Example)
	}
}

func TestLongAndDeepExpressions(t *testing.T) {
	_, mistakes := Compile(strings.Repeat("(", 16000), Schema{}, TypeAny)
	require.Len(t, mistakes, 1)
	_, mistakes = Compile(strings.Repeat("a", maxSource+1), Schema{}, TypeAny)
	require.Equal(t, "the expression has 16385 bytes; 16384 are allowed", mistakes[0].Summary)
	for _, source := range []string{
		strings.Repeat("not ", 3000) + "a", strings.Repeat("-", 8000) + "1", strings.Repeat("[", 4000) + "a" + strings.Repeat("]", 4000),
		"a" + strings.Repeat(" + a", 3000), strings.Repeat("(", 8000) + "a" + strings.Repeat(")", 8000),
	} {
		p, mistakes := Compile(source, Schema{}, TypeAny)
		require.Empty(t, mistakes)
		run(p, records(t, `{"a": 1}`))
	}
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	require.Equal(t, []string{"true"}, eval(t, "a == b", Schema{}, `{"a": `+deep[:4000]+deep[196_000:]+`, "b": `+deep[:4000]+deep[196_000:]+`}`))
}
