package decode

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// lines makes a batch of rows as a line source hands them over.
func lines(rows ...string) *batch.Batch {
	b := batch.Get()
	b.N, b.Trailer = len(rows), 1
	b.Offsets = append(b.Offsets, 0)
	for _, r := range rows {
		b.Data = append(append(b.Data, r...), '\n')
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	}
	return b
}

// show writes a cell with its kind where the text does not tell it.
func show(b *batch.Batch, c *batch.Column, i int) string {
	text := string(cellText(b, c, i))
	switch c.Kinds[i] {
	case batch.Missing:
		return "-"
	case batch.String:
		return fmt.Sprintf("%q", text)
	case batch.Float:
		return "float " + text
	case batch.Uint, batch.JSON, batch.Time:
		return c.Kinds[i].String() + " " + text
	}
	return text
}

func decodeOne(t *testing.T, spec Spec, row string) (cells []string, refused string) {
	t.Helper()
	d, errs := New(spec)
	require.NoError(t, errs.Err())
	b := lines(row)
	d.Decode(b)
	if len(b.Bad) > 0 {
		return nil, b.Bad[0].Code + ": " + b.Bad[0].Message
	}
	for i := range b.Columns {
		cells = append(cells, show(b, &b.Columns[i], 0))
	}
	return cells, ""
}

func TestJSONSmoke(t *testing.T) {
	spec := Spec{Format: FormatJSON, Fields: []Field{{Name: "k"}, {Name: "ts"}, {Name: "v"}, {Name: "a.b"}, {Name: "a[1]"}}}
	cells, refused := decodeOne(t, spec, `{"k":"user","x":[1,{"y":null}],"ts":1700000000000,"v":88.04,"a":{"b":true}}`)
	require.Empty(t, refused)
	require.Equal(t, []string{`"user"`, "1700000000000", "float 88.04", "true", "-"}, cells)
}
