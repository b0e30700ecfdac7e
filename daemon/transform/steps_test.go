package transform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

func compiled(t require.TestingT, source string) *Program {
	p, mistakes := Compile(source, Schema{}, TypeAny)
	require.Empty(t, mistakes, source)
	return p
}

// table writes the alive rows of a batch, a line each.
func table(b *batch.Batch) string {
	var out strings.Builder
	sel := b.Sel
	if sel == nil {
		for i := range b.N {
			sel = append(sel, uint32(i))
		}
	}
	for _, row := range sel {
		for k := range b.Columns {
			if k > 0 {
				out.WriteByte(' ')
			}
			fmt.Fprintf(&out, "%s=%s", b.Columns[k].Name, show(b, &b.Columns[k], int(row)))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func closes(t *testing.T, c Counts) {
	t.Helper()
	require.Equal(t, c.In, c.Out+c.Filtered+c.Rejected)
}

func TestFilterKeepsWhatIsTrue(t *testing.T) {
	f := NewFilter(compiled(t, "status >= 500"))
	b := records(t, `{"status": 500}`, `{"status": 200}`, `{"status": null}`, `{}`, `{"status": "x"}`, `{"status": 503.5}`)
	c := f.Apply(b)
	require.Equal(t, Counts{In: 6, Out: 2, Filtered: 3, Rejected: 1}, c)
	closes(t, c)
	require.Equal(t, []uint32{0, 5}, b.Sel)
	require.Len(t, b.Bad, 1)
	require.EqualValues(t, 4, b.Bad[0].Row)

	// What is dead already stays dead, and is not counted.
	b = records(t, `{"status": 500}`, `{"status": 500}`, `{"status": 1}`)
	b.Sel = []uint32{1, 2}
	require.Equal(t, Counts{In: 2, Out: 1, Filtered: 1}, f.Apply(b))
	require.Equal(t, []uint32{1}, b.Sel)

	// A condition of unknown type that turns out to be something else.
	f = NewFilter(compiled(t, "flag"))
	b = records(t, `{"flag": true}`, `{"flag": 1}`, `{"flag": false}`)
	c = f.Apply(b)
	require.Equal(t, Counts{In: 3, Out: 1, Filtered: 1, Rejected: 1}, c)
	require.Equal(t, "flag: a condition is a bool, not 1", b.Bad[0].Message)
}

func TestMap(t *testing.T) {
	for _, c := range []struct {
		name string
		set  MapSettings
		want string
	}{
		{"set adds and replaces, over the record as it came in",
			MapSettings{Set: []Assignment{{"a", compiled(t, "a + 1")}, {"c", compiled(t, "a * 10")}, {"d", compiled(t, `b + "!"`)}}},
			"a=2 b=\"x\" c=10 d=\"x!\"\n"},
		{"rename", MapSettings{Rename: []Rename{{"a", "z"}, {"none", "y"}}}, "z=1 b=\"x\"\n"},
		{"rename onto a field that is there", MapSettings{Rename: []Rename{{"a", "b"}}}, "b=1\n"},
		{"rename what was set", MapSettings{Set: []Assignment{{"c", compiled(t, "a")}}, Rename: []Rename{{"c", "a"}}}, "b=\"x\" a=1\n"},
		{"drop", MapSettings{Drop: []string{"a", "none"}}, "b=\"x\"\n"},
		{"keep, in its order", MapSettings{Set: []Assignment{{"c", compiled(t, "1.5")}}, Keep: []string{"c", "b", "none"}}, "c=1.5 b=\"x\"\n"},
		{"swap two fields", MapSettings{Set: []Assignment{{"a", compiled(t, "b")}, {"b", compiled(t, "a")}}}, "a=\"x\" b=1\n"},
		{"a constant text", MapSettings{Set: []Assignment{{"k", compiled(t, `"v"`)}}, Keep: []string{"k"}}, "k=\"v\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewMap(c.set)
			for range 3 { // memory of columns that were dropped is used again
				b := records(t, `{"a": 1, "b": "x"}`)
				counts := m.Apply(b)
				require.Equal(t, Counts{In: 1, Out: 1}, counts)
				require.Equal(t, c.want, table(b))
				b.Release()
			}
			b := records(t, `{"a": 1, "b": "x"}`)
			before := table(b)
			f := b.Fork()
			m.Apply(f)
			require.Equal(t, c.want, table(f))
			require.Equal(t, before, table(b), "the batch that was forked is untouched")
		})
	}
}

func TestMapRefusesRowsItCannotCompute(t *testing.T) {
	m := NewMap(MapSettings{Set: []Assignment{{"x", compiled(t, "10 / a")}, {"y", compiled(t, "int(s)")}}})
	b := records(t, `{"a": 2, "s": "1"}`, `{"a": 0, "s": "x"}`, `{"a": 5, "s": "x"}`, `{"a": 4, "s": "3"}`)
	c := m.Apply(b)
	require.Equal(t, Counts{In: 4, Out: 2, Rejected: 2}, c)
	require.Equal(t, "a=2 s=\"1\" x=5.0 y=1\na=4 s=\"3\" x=2.5 y=3\n", table(b))
	require.Equal(t, "10 / a: 10.0 / 0: division by zero", b.Bad[0].Message)
	require.Equal(t, `int(s): the string "x" is not a whole number of 64 bits`, b.Bad[1].Message)
}

func TestUnnest(t *testing.T) {
	u := NewUnnest(compiled(t, "items"), "item", "n")
	b := records(t,
		`{"k": "a", "items": [1, "two", {"x": "ü"}]}`, `{"k": "b", "items": []}`, `{"k": "c", "items": null}`, `{"k": "d", "items": "[1]"}`,
		`{"k": "e", "items": [null, "q\"uote"]}`, `{"k": "f"}`)
	b.Marks = []batch.Mark{{After: 0, Watermark: 1}, {After: 1, Watermark: 2}, {After: 5, Watermark: 3}, {After: 6, Watermark: 4}}
	b.Position = append(b.Position, "p"...)
	var rejected []string
	out, c := u.Apply(b, func(b *batch.Batch, from int) {
		for _, bad := range b.Bad[from:] {
			rejected = append(rejected, string(b.Row(int(bad.Row)))+" "+bad.Code+" "+bad.Message)
		}
	})
	require.Equal(t, Counts{In: 6, Out: 5, Filtered: 3, Rejected: 1}, c)
	require.Equal(t, []string{`{"k": "d", "items": "[1]"} not_a_list items is the string "[1]", not a list`}, rejected)
	require.Equal(t, `k="a" item=1 n=0
k="a" item="two" n=1
k="a" item={"x": "ü"} n=2
k="e" item=null n=0
k="e" item="q\"uote" n=1
`, table(out))
	require.Equal(t, []int64{1, 1, 1, 5, 5}, out.Times)
	require.Equal(t, []batch.Mark{{After: 0, Watermark: 1}, {After: 3, Watermark: 2}, {After: 5, Watermark: 3}, {After: 5, Watermark: 4}}, out.Marks)
	require.Equal(t, "p", string(out.Position))
	require.Nil(t, out.Row(0))
	out.Release()
}

func TestUnnestedRowsStandWhereTheirRecordStood(t *testing.T) {
	u := NewUnnest(compiled(t, "items"), "", "")
	rows := []string{`{"items": []}`, `{"items": [1, 2]}`, `{"items": [3]}`}
	for _, c := range []struct {
		unit batch.PositionUnit
		want []int64
	}{
		{batch.RecordNumber, []int64{101, 101, 102}},
		{batch.ByteOffset, []int64{114, 114, 132}},
	} {
		b := records(t, rows...)
		b.Base, b.Unit = 100, c.unit
		out, _ := u.Apply(b, nil)
		f := out.Fork() // as every branch of the graph sees it
		var got []int64
		for i := range f.N {
			got = append(got, f.RowPosition(i))
		}
		require.Equal(t, c.want, got)
		f.Release()
		out.Release()
	}
}

func TestUnnestUnderItsOwnName(t *testing.T) {
	u := NewUnnest(compiled(t, "o.list"), "", "")
	b := records(t, `{"o": {"list": ["a", "b"]}, "k": 1}`)
	out, c := u.Apply(b, nil)
	require.EqualValues(t, 2, c.Out)
	require.Equal(t, "k=1 o={\"list\": [\"a\", \"b\"]} o.list=\"a\"\nk=1 o={\"list\": [\"a\", \"b\"]} o.list=\"b\"\n", table(out))
	out.Release()
}
