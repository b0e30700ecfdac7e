package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// totals is what is known of a key in a window.
type totals struct {
	n             int64
	sum, min, max float64
}

// windows holds open windows by their start, and fires those that the watermark has passed.
type windows struct {
	size, bound   int64
	open          map[int64]map[string]*totals
	highest, next int64 // the highest time, and the one that ends the next window
}

func newWindows(conf *service.ParsedConfig, _ *service.Resources) (service.BatchProcessor, error) {
	size, err := conf.FieldInt("size_ms")
	if err != nil {
		return nil, err
	}
	bound, err := conf.FieldInt("bound_ms")
	if err != nil {
		return nil, err
	}
	return &windows{size: int64(size), bound: int64(bound), open: map[int64]map[string]*totals{}, highest: math.MinInt64, next: math.MinInt64}, nil
}

func (w *windows) ProcessBatch(_ context.Context, batch service.MessageBatch) ([]service.MessageBatch, error) {
	var out service.MessageBatch
	for _, m := range batch {
		v, err := m.AsStructured()
		if err != nil {
			return nil, fail(err)
		}
		events, ok := v.([]event)
		if !ok { // the end comes past the parser
			out = w.fire(out, m, math.MaxInt64)
			continue
		}
		for i := range events {
			e := &events[i]
			w.add(e)
			if e.TS > w.highest {
				if w.highest = e.TS; w.highest >= w.next {
					mark := w.highest - w.bound - 1
					out = w.fire(out, m, mark)
					w.next = (mark+1)/w.size*w.size + w.size + w.bound
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return []service.MessageBatch{out}, nil
}

func (w *windows) add(e *event) {
	start := e.TS - e.TS%w.size
	keys := w.open[start]
	if keys == nil {
		keys = map[string]*totals{}
		w.open[start] = keys
	}
	t := keys[e.Key]
	if t == nil {
		t = &totals{min: math.Inf(1), max: math.Inf(-1)}
		keys[e.Key] = t
	}
	t.n++
	t.sum += e.Value
	t.min, t.max = min(t.min, e.Value), max(t.max, e.Value)
}

// lines is how many rows go into a message: the output writes each by system calls of its own.
const lines = 1000

// fire appends the rows of windows that the watermark has passed to out, as messages made from m.
func (w *windows) fire(out service.MessageBatch, m *service.Message, watermark int64) service.MessageBatch {
	for start, keys := range w.open {
		end := start + w.size
		if end-1 > watermark {
			continue
		}
		var text []byte
		n := 0
		flush := func() {
			if len(text) > 0 {
				row := m.Copy()
				row.SetBytes(text[:len(text)-1]) // the output ends messages with a line feed
				out, text, n = append(out, row), nil, 0
			}
		}
		window := fmt.Sprintf(`,"window_start":%q,"window_end":%q,"n":`, rfc3339(start), rfc3339(end))
		for key, t := range keys {
			text = append(text, `{"key":`...)
			text = strconv.AppendQuote(text, key)
			text = append(text, window...)
			text = strconv.AppendInt(text, t.n, 10)
			text = appendFloat(text, `,"sum":`, t.sum)
			text = appendFloat(text, `,"min":`, t.min)
			text = appendFloat(text, `,"max":`, t.max)
			text = append(text, '}', '\n')
			if n++; n == lines {
				flush()
			}
		}
		flush()
		delete(w.open, start)
	}
	return out
}

func rfc3339(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }

func appendFloat(b []byte, label string, v float64) []byte {
	return strconv.AppendFloat(append(b, label...), v, 'g', -1, 64)
}

func (*windows) Close(context.Context) error { return nil }

func register() error {
	spec := service.NewConfigSpec().Field(service.NewStringField("method"))
	if err := service.RegisterBatchProcessor("parse_event", spec, newParser); err != nil {
		return err
	}
	spec = service.NewConfigSpec().Field(service.NewIntField("size_ms")).Field(service.NewIntField("bound_ms"))
	return service.RegisterBatchProcessor("event_time_totals", spec, newWindows)
}

// failed takes the first error of a processor, which ends the program.
var failed = make(chan error, 1)

func fail(err error) error {
	select {
	case failed <- err:
	default:
	}
	return err
}
