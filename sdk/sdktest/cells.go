package sdktest

import (
	"math"
	"strconv"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

func cellText(b *batch.Batch, c *batch.Column, i int) string {
	bits := c.Bits[i]
	switch c.Kinds[i] {
	case batch.Null:
		return "null"
	case batch.Bool:
		return strconv.FormatBool(bits != 0)
	case batch.Int:
		return strconv.FormatInt(int64(bits), 10)
	case batch.Uint:
		return strconv.FormatUint(bits, 10)
	case batch.Float:
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case batch.String, batch.JSON:
		return string(b.Text(bits))
	case batch.Time:
		return timeText(int64(bits))
	}
	return ""
}
