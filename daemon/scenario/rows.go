package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// encodeRow is a row of a case as the source would hand it over: its text as it stands, or a table in the source's format.
func encodeRow(s *plan.Source, v *config.Value) ([]byte, error) {
	if s.Decode == nil {
		if v.Kind != config.KindTable {
			return nil, fmt.Errorf("its rows have fields, so a row is a table")
		}
		return nil, nil
	}
	if v.Kind == config.KindString {
		return []byte(v.Str), nil
	}
	switch s.Decode.Format {
	case decode.FormatJSON:
		return object(v.Table)
	case decode.FormatCSV, "delimited":
	default:
		return nil, fmt.Errorf("rows of format %q are written as text", s.Decode.Format)
	}
	delimiter := s.Decode.Delimiter
	if delimiter == "" {
		delimiter = ","
	}
	var names, cells []string
	for _, d := range s.Decode.Declared {
		names = append(names, d.Name)
		cell := ""
		if f := v.Table.Get(d.Name); f != nil {
			cell = fmt.Sprint(f.Any(false))
		}
		if strings.Contains(cell, delimiter) || strings.Contains(cell, `"`) {
			return nil, fmt.Errorf("the value %q has to be quoted: write the row as text", cell)
		}
		cells = append(cells, cell)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no fields are declared, so a row is written as text")
	}
	for _, k := range v.Table.Keys {
		if !contains(names, k) {
			return nil, fmt.Errorf("there is no declared field %q; there are %s", k, strings.Join(names, ", "))
		}
	}
	return []byte(strings.Join(cells, delimiter)), nil
}

// object writes a table as a JSON object, with the keys in the order of the file. TOML has no null and JSON no nan: the one stands for the
// other.
func object(t *config.Table) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range t.Keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encode(&b, k); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		v := t.Get(k)
		if v.Kind == config.KindTable {
			inner, err := object(v.Table)
			if err != nil {
				return nil, err
			}
			b.Write(inner)
			continue
		}
		if v.Kind == config.KindFloat && math.IsNaN(v.Float) {
			b.WriteString("null")
			continue
		}
		if err := encode(&b, v.Any(false)); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode writes a value as JSON, without escapes for HTML.
func encode(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // Encode ends with a line feed
	return nil
}

// cells makes a batch with columns of tables, for sources that bring records with fields.
func cells(fields []string, rows []*config.Value) *batch.Batch {
	b := batch.Get()
	var names []string
	names = append(names, fields...)
	for _, row := range rows {
		for _, k := range row.Table.Keys {
			if !contains(names, k) {
				names = append(names, k)
			}
		}
	}
	for _, n := range names {
		b.AddColumn(n)
	}
	b.Grow(len(rows))
	for i, row := range rows {
		b.Times[i] = batch.NoTimestamp
		for k := range b.Columns {
			c := &b.Columns[k]
			v := row.Table.Get(c.Name)
			switch {
			case v == nil:
				c.SetMissing(i)
			case v.Kind == config.KindInt:
				c.SetInt(i, v.Int)
			case v.Kind == config.KindFloat && math.IsNaN(v.Float):
				c.SetNull(i)
			case v.Kind == config.KindFloat:
				c.Set(i, batch.Float, math.Float64bits(v.Float))
			case v.Kind == config.KindBool:
				c.SetBool(i, v.Bool)
			case v.Kind == config.KindTime:
				c.SetTime(i, v.Time.UnixMilli())
			case v.Kind == config.KindString:
				b.SetText(c, i, batch.String, v.Str)
			default:
				var text bytes.Buffer
				if err := encode(&text, v.Any(false)); err != nil {
					c.SetNull(i)
					continue
				}
				b.SetText(c, i, batch.JSON, text.String())
			}
		}
	}
	return b
}
