package sdktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// answers is what an assigner said about a run of rows, by row: it does not depend on batches.
type answers struct {
	times      []int64
	watermarks map[int]int64 // after so many rows: the highest watermark, where it rose
	high       int64
	markers    []int
	refused    map[int]string
}

func (a *answers) add(e wire.AssignerEvent, from int) {
	if a.watermarks == nil {
		a.watermarks, a.refused, a.high = map[int]int64{}, map[int]string{}, batch.NoWatermark
	}
	b := e.Batch
	a.times = append(a.times, b.Times...)
	for _, m := range b.Marks {
		if m.Watermark > a.high {
			a.high = m.Watermark
			a.watermarks[from+int(m.After)] = m.Watermark
		}
	}
	for _, row := range e.Markers {
		a.markers = append(a.markers, from+int(row))
	}
	for _, x := range b.Bad {
		a.refused[from+int(x.Row)] = x.Code
	}
}

// differ names the first row at which two runs differ, or "".
func (a *answers) differ(b *answers) string {
	for i := range min(len(a.times), len(b.times)) {
		_, badA := a.refused[i]
		_, badB := b.refused[i]
		switch {
		case badA != badB:
			return fmt.Sprintf("record %d is refused in one run and not in the other", i)
		case slices.Contains(a.markers, i) != slices.Contains(b.markers, i):
			return fmt.Sprintf("record %d is a marker in one run and not in the other", i)
		case !badA && a.times[i] != b.times[i]:
			return fmt.Sprintf("record %d has the timestamp %s in one run and %s in the other", i, timeText(a.times[i]), timeText(b.times[i]))
		}
		wa, risesA := a.watermarks[i+1]
		wb, risesB := b.watermarks[i+1]
		if risesA != risesB || wa != wb {
			return fmt.Sprintf("after record %d the watermark is %s in one run and %s in the other", i, markText(wa, risesA), markText(wb, risesB))
		}
	}
	if len(a.times) != len(b.times) {
		return fmt.Sprintf("one run has %d answers and the other %d", len(a.times), len(b.times))
	}
	return ""
}

func markText(w int64, rises bool) string {
	if !rises {
		return "unchanged"
	}
	return timeText(w)
}

func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// batchOf makes columns of rows.
func batchOf(rows []map[string]any, previous []int64) *batch.Batch {
	b := batch.Get()
	b.N = len(rows)
	b.Times = append(b.Times, previous...)
	names := map[string]any{}
	for _, r := range rows {
		for name := range r {
			names[name] = nil
		}
	}
	for _, name := range sortedNames(names) {
		c := b.AddColumn(name)
		for i, r := range rows {
			if v, ok := r[name]; ok {
				setCell(b, c, i, v)
			} else {
				c.SetMissing(i)
			}
		}
	}
	b.Offsets = append(b.Offsets, 0)
	for _, r := range rows {
		text, _ := json.Marshal(jsonable(r))
		b.Data = append(b.Data, text...)
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	}
	return b
}

// jsonable leaves out what JSON cannot say.
func jsonable(r map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range r {
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			v = nil
		}
		out[k] = v
	}
	return out
}

func setCell(b *batch.Batch, c *batch.Column, i int, v any) {
	switch x := v.(type) {
	case nil:
		c.SetNull(i)
	case bool:
		c.SetBool(i, x)
	case int:
		c.SetInt(i, int64(x))
	case int32:
		c.SetInt(i, int64(x))
	case int64:
		c.SetInt(i, x)
	case uint64:
		c.SetUint(i, x)
	case float64:
		c.SetFloat(i, x)
	case string:
		b.SetText(c, i, batch.String, x)
	case []byte:
		b.SetText(c, i, batch.String, string(x))
	case json.RawMessage:
		b.SetText(c, i, batch.JSON, string(x))
	case time.Time:
		c.SetTime(i, x.UnixMilli())
	default:
		b.SetText(c, i, batch.String, fmt.Sprint(x))
	}
}
