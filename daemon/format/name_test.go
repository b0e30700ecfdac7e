package format

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

func TestFieldsWithDotsKeepTheirNames(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{`["a.b"]`, "n"}, `{"a.b":1,"n":2}`},
		{[]string{`['a.b']`, `"c.d"`}, `{"a.b":1,"c.d":2}`},
		{[]string{`["say \"hi\""]`, "n"}, `{"say \"hi\"":1,"n":2}`},
		{[]string{`["a.b"]`, "a.b"}, `{"[\"a.b\"]":1,"a.b":2}`}, // the nested field has that name
		{[]string{`a["b.c"]`, `["a"].b`}, `{"a[\"b.c\"]":1,"[\"a\"].b":2}`},
		{[]string{`["a"]["b"]`, `["a`}, `{"[\"a\"][\"b\"]":1,"[\"a":2}`},
		{[]string{`""`, `"`}, `{"\"\"":1,"\"":2}`},
	} {
		b := batch.Get()
		b.N = 1
		for i, name := range c.names {
			b.AddColumn(name).SetInt(0, int64(i+1))
		}
		f, err := New(Options{})
		require.NoError(t, err)
		row, err := f.AppendRow(nil, b, 0)
		require.NoError(t, err)
		require.Equal(t, c.want, string(row))
		b.Release()
	}
}
