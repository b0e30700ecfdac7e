package window

// Peeker is an operator that shows what it holds.
type Peeker interface {
	// Peek appends to out.Results what up to limit windows hold now, as the rows that they would emit, in no particular order, and
	// changes nothing. It goes on behind the place that the call before has returned, and begins with 0; it returns 0 when it has
	// come to the end. Windows that begin or end between two calls may be left out, so a caller can let rows pass in between, and
	// must where it is asked by people while the pipeline runs. _firing is the number of the window's next result.
	Peek(from, limit int, out *Output) (next int)
}

var _ Peeker = (*general)(nil)

func (g *general) Peek(from, limit int, out *Output) (next int) {
	g.writer.open(out)
	for i := from; i < len(g.entries.all); i++ {
		e := &g.entries.all[i]
		if !e.is(inUse) || !e.is(filled) {
			continue
		}
		if limit == 0 {
			return i
		}
		limit--
		res := result{span: e.span, watermark: g.watermark, firing: e.firings, timing: g.timingNow(e)}
		g.writer.add(res, g.keys.records[e.key].tag, g.keys.key(e.key), g.entries.mem, g.entries.at(uint32(i)), &g.heap)
	}
	return 0
}

// timingNow is what a result that is given now is called, when the end of the window is not what gives it.
func (g *general) timingNow(e *entry) Timing {
	switch {
	case g.spec.Type == Global:
		return OnTime
	case g.watermark >= e.span.MaxTimestamp() && !g.spec.ProcessingTime:
		return Late
	}
	return Early
}
