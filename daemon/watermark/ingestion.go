package watermark

// Ingestion is the clock of ingestion-time pipelines (semantics 12.3): a row's timestamp is the processing time of its arrival, and
// the watermark is that time rounded down to the interval, sent when the clock has passed the next multiple. Timestamps and
// watermarks that the source brings are ignored.
type Ingestion struct {
	interval int64
	next     int64
	now      int64
}

// NewIngestion returns the clock. interval is in milliseconds; values below 1 are taken as 1.
func NewIngestion(interval int64) *Ingestion {
	return &Ingestion{interval: max(interval, 1)}
}

// Arrive returns the timestamp of rows that arrive at processing time now. It does not go back when the clock does, so that a step of
// the wall clock cannot make arriving rows late.
func (g *Ingestion) Arrive(now int64) int64 {
	g.now = max(g.now, now)
	return g.now
}

// Watermark returns the watermark that is due at processing time now, after the rows that arrived until then; false when none is.
// Call it after each batch of arrivals and once an interval.
func (g *Ingestion) Watermark(now int64) (int64, bool) {
	if now = g.Arrive(now); now <= g.next {
		return 0, false
	}
	w := now - now%g.interval
	g.next = w + g.interval
	return w, true
}

// Next is the processing time from which Watermark has something to say.
func (g *Ingestion) Next() int64 { return g.next + 1 }
