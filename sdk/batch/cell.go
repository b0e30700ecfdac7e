package batch

import (
	"encoding/json"
	"math"
	"time"
)

// WholeColumn is the name of the column that holds whole records, as JSON objects (kind JSON), where somebody wants all of their fields.
const WholeColumn = "_row"

// Value is a cell as a Go value: nil (missing, null), bool, int64, uint64, float64, string, time.Time, or json.RawMessage. text is what bits
// refers to in cells of the kinds String and JSON, copied out of the batch; other kinds do not look at it.
func Value(k Kind, bits uint64, text string) any {
	switch k {
	case Bool:
		return bits != 0
	case Int:
		return int64(bits)
	case Uint:
		return bits
	case Float:
		return math.Float64frombits(bits)
	case String:
		return text
	case JSON:
		return json.RawMessage(text)
	case Time:
		return time.UnixMilli(int64(bits)).UTC()
	}
	return nil
}

// IsText says whether cells of a kind refer to text.
func (k Kind) IsText() bool { return k == String || k == JSON }
