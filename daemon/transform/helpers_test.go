package transform

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// records makes a batch of rows written as JSON objects. Times are objects {"$time": ms}, and {"$missing": true} is a missing field, as
// is a field that only other rows have.
func records(t require.TestingT, rows ...string) *batch.Batch {
	b := batch.Get()
	b.Offsets = append(b.Offsets, 0)
	var all []map[string]json.RawMessage
	names := map[string]bool{}
	for _, r := range rows {
		var m map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(r), &m), r)
		all = append(all, m)
		for name := range m {
			names[name] = true
		}
		b.Data = append(b.Data, r+"\n"...)
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
		b.Times = append(b.Times, int64(len(all)))
	}
	b.N, b.Trailer = len(rows), 1
	var sorted []string
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	for _, name := range sorted {
		b.AddColumn(name)
	}
	for k, name := range sorted {
		c := &b.Columns[k]
		for i, m := range all {
			raw, ok := m[name]
			if !ok || strings.HasPrefix(string(raw), `{"$missing"`) {
				c.SetMissing(i)
				continue
			}
			var special struct {
				Time *int64 `json:"$time"`
			}
			if json.Unmarshal(raw, &special) == nil && special.Time != nil {
				c.SetTime(i, *special.Time)
				continue
			}
			v := fromJSON(raw)
			if v.isText() {
				b.SetText(c, i, v.kind, string(v.text))
			} else {
				c.Set(i, v.kind, v.bits)
			}
		}
	}
	return b
}

// show writes a cell for expectations: its kind where JSON would not tell, and its value.
func show(b *batch.Batch, c *batch.Column, i int) string {
	bits := c.Bits[i]
	switch c.Kinds[i] {
	case batch.Missing:
		return "missing"
	case batch.Null:
		return "null"
	case batch.Bool:
		return fmt.Sprint(bits != 0)
	case batch.Int:
		return fmt.Sprint(int64(bits))
	case batch.Uint:
		return fmt.Sprint(bits, "u")
	case batch.Float:
		f := math.Float64frombits(bits)
		if f == math.Trunc(f) && math.Abs(f) < 1e15 {
			return fmt.Sprintf("%.1f", f)
		}
		return fmt.Sprint(f)
	case batch.String:
		return fmt.Sprintf("%q", b.Text(bits))
	case batch.Time:
		return "@" + time.UnixMilli(int64(bits)).UTC().Format("2006-01-02T15:04:05.999")
	case batch.JSON:
		return string(b.Text(bits))
	}
	return fmt.Sprintf("kind %d", c.Kinds[i])
}

// eval compiles and runs an expression over records, and gives each row's value or its mistake.
func eval(t require.TestingT, source string, schema Schema, rows ...string) []string {
	p, mistakes := Compile(source, schema, TypeAny)
	require.Empty(t, mistakes, source)
	b := records(t, rows...)
	return run(p, b)
}

func run(p *Program, b *batch.Batch) []string {
	out := b.AddColumn("result")
	from := len(b.Bad)
	p.Evaluator().Eval(b, out)
	got := make([]string, b.N)
	for i := range got {
		got[i] = show(b, out, i)
	}
	for _, bad := range b.Bad[from:] {
		got[bad.Row] = "! " + strings.TrimPrefix(bad.Message, p.label+": ")
	}
	return got
}
