package watermark

import (
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Valve combines the inputs of one operator (semantics 5.14 to 5.19, the current variant).
//
// The output is the minimum over the aligned inputs. All inputs begin active, aligned and at batch.NoWatermark. One that goes idle loses
// alignment; when it returns, it counts again only once its watermark has reached the output, so the others go on meanwhile.
// Watermarks of an idle input are discarded. When the last active input goes idle, the highest watermark of all inputs is sent
// first, then idle.
//
// An input whose watermark is batch.EndOfInput stays active at the end of time, as in Flink, so the end of input is let through when all
// others are idle. An input that has ended for good should be taken out with End: then the others decide.
type Valve struct {
	coalesce Coalescer
	output   Emitter
	inputs   []valveInput
}

type valveInput struct {
	watermark int64
	idle      bool
	unaligned bool
	ended     bool
}

// NewValve returns a valve for n inputs, numbered from 0. granularity and offset thin the marks of Apply, see NewCoalescer.
func NewValve(n int, granularity, offset int64) *Valve {
	v := &Valve{coalesce: NewCoalescer(granularity, offset), output: NewEmitter(), inputs: make([]valveInput, n)}
	for i := range v.inputs {
		v.inputs[i].watermark = batch.NoWatermark
	}
	return v
}

// Watermark is a watermark of an input.
func (v *Valve) Watermark(input int, watermark int64, out []Event) []Event {
	if !v.store(input, watermark) {
		return out
	}
	return v.recombine(out)
}

// Idle says that an input is idle.
func (v *Valve) Idle(input int, out []Event) []Event {
	in := &v.inputs[input]
	if in.idle || in.ended {
		return out
	}
	in.idle, in.unaligned = true, true
	return v.left(out)
}

// Active says that an input counts again.
func (v *Valve) Active(input int, out []Event) []Event {
	in := &v.inputs[input]
	if !in.idle || in.ended {
		return out
	}
	in.idle = false
	in.unaligned = in.watermark < v.output.last
	out = v.output.Activate(out)
	return v.recombine(out)
}

// End takes an input out for good. When all inputs have ended, the output is the end of input.
func (v *Valve) End(input int, out []Event) []Event {
	in := &v.inputs[input]
	if in.ended {
		return out
	}
	in.ended = true
	for i := range v.inputs {
		if !v.inputs[i].ended {
			return v.left(out)
		}
	}
	return v.output.End(out)
}

// Apply combines the marks of a batch of an input and appends those that raise the output, thinned by the coalescer. It does
// not change the status of the input: call Active before it when the input was idle.
func (v *Valve) Apply(input int, marks []batch.Mark, out []batch.Mark) []batch.Mark {
	others, dropped := v.others(input), batch.Mark{}
	pending := false
	for _, m := range marks {
		if !v.store(input, m.Watermark) || v.inputs[input].unaligned {
			continue
		}
		w := min(m.Watermark, others)
		if w <= v.output.last {
			continue
		}
		v.output.last = w
		m.Watermark = w
		if v.coalesce.matters(w) {
			out, pending = append(out, m), false
		} else {
			dropped, pending = m, true
		}
	}
	if pending {
		out = append(out, dropped)
	}
	return out
}

// Current is the last watermark sent, or batch.NoWatermark.
func (v *Valve) Current() int64 { return v.output.last }

// IsIdle reports whether the output is idle.
func (v *Valve) IsIdle() bool { return v.output.idle }

// store takes in a watermark and reports whether the output may rise by it.
func (v *Valve) store(input int, watermark int64) bool {
	in := &v.inputs[input]
	if in.idle || in.ended || v.output.idle || watermark <= in.watermark {
		return false
	}
	in.watermark = watermark
	if in.unaligned && watermark >= v.output.last {
		in.unaligned = false
	}
	return true
}

// left recombines after an input has stopped counting.
func (v *Valve) left(out []Event) []Event {
	high := int64(math.MinInt64)
	for i := range v.inputs {
		in := &v.inputs[i]
		if in.ended {
			continue
		}
		if !in.idle {
			return v.recombine(out)
		}
		high = max(high, in.watermark)
	}
	if v.output.idle {
		return out
	}
	return v.output.Idle(v.emit(high, out))
}

// recombine sends the minimum over the aligned inputs, if there is one and it rises.
func (v *Valve) recombine(out []Event) []Event {
	low, any := int64(math.MaxInt64), false
	for i := range v.inputs {
		if in := &v.inputs[i]; !in.unaligned && !in.ended {
			low, any = min(low, in.watermark), true
		}
	}
	if !any {
		return out
	}
	return v.emit(low, out)
}

func (v *Valve) emit(watermark int64, out []Event) []Event {
	if watermark > v.output.last {
		v.coalesce.matters(watermark)
	}
	return v.output.Emit(watermark, out)
}

// others is the minimum over the aligned inputs beside one; math.MaxInt64 when there is none.
func (v *Valve) others(input int) int64 {
	low := int64(math.MaxInt64)
	for i := range v.inputs {
		if in := &v.inputs[i]; i != input && !in.unaligned && !in.ended {
			low = min(low, in.watermark)
		}
	}
	return low
}
