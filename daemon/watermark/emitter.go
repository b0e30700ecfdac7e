package watermark

import "github.com/tidemark-stream/tidemark/sdk/batch"

// Emitter lets a watermark through only if it is strictly higher than the last one (semantics 4.1), and turns idleness into
// changes of status. It is the last thing before a single, uncombined output. The zero value is not ready: use NewEmitter.
type Emitter struct {
	last int64
	idle bool
}

// NewEmitter returns an emitter that has sent nothing and is active.
func NewEmitter() Emitter { return Emitter{last: batch.NoWatermark} }

// Emit offers a watermark. If it rises, it is sent, and an idle output becomes active first (5.11); otherwise nothing happens.
func (e *Emitter) Emit(watermark int64, out []Event) []Event {
	if watermark <= e.last {
		return out
	}
	e.last = watermark
	if e.idle {
		e.idle = false
		out = append(out, Event{Kind: Active})
	}
	return append(out, Event{Kind: Rise, Watermark: watermark})
}

// Idle marks the output idle; said once.
func (e *Emitter) Idle(out []Event) []Event {
	if e.idle || e.last == batch.EndOfInput {
		return out
	}
	e.idle = true
	return append(out, Event{Kind: Idle})
}

// Activate makes an idle output active without a watermark.
func (e *Emitter) Activate(out []Event) []Event {
	if !e.idle {
		return out
	}
	e.idle = false
	return append(out, Event{Kind: Active})
}

// End sends the end of input; an idle output becomes active first, because downstream discards watermarks of idle inputs (11.3).
func (e *Emitter) End(out []Event) []Event { return e.Emit(batch.EndOfInput, out) }

// Last is the last watermark sent, or batch.NoWatermark.
func (e *Emitter) Last() int64 { return e.last }

// IsIdle reports whether the output was last said to be idle.
func (e *Emitter) IsIdle() bool { return e.idle }
