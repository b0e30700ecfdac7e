package transform

import (
	"math"

	"github.com/tidemark-stream/tidemark/daemon/jsontext"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// appendJSON writes a value as JSON. NaN and infinities, for which JSON has no numbers, become their names as strings.
func appendJSON(out []byte, v value) []byte {
	switch v.kind {
	case batch.Bool, batch.Int, batch.Uint:
		return appendText(out, v)
	case batch.Float:
		f := v.float()
		switch {
		case f != f:
			return append(out, `"NaN"`...)
		case math.IsInf(f, 1):
			return append(out, `"Infinity"`...)
		case math.IsInf(f, -1):
			return append(out, `"-Infinity"`...)
		}
		return appendFloat(out, f)
	case batch.Time:
		return append(appendTime(append(out, '"'), v.int()), '"')
	case batch.String:
		return jsontext.AppendString(out, v.text)
	case batch.JSON:
		if v.list == nil {
			return append(out, v.text...)
		}
		out = append(out, '[')
		for i, e := range v.list.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, e)
		}
		return append(out, ']')
	}
	return append(out, "null"...)
}
