package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

func newAggregatePlugin[In, Acc, Out, C any](name, summary string, about []About, make func(C) (Aggregate[In, Acc, Out], error)) Plugin {
	d := describe[C](KindAggregate, name, summary)
	in, err := shapeOfWindowed[In]()
	if err != nil {
		panic(fmt.Sprintf("sdk: aggregate plugin %q: %v", name, err))
	}
	in.describe(&d)
	d.Output = []FieldSpec{{Name: wire.ResultColumn, Type: resultType(reflect.TypeFor[Out]())}}
	return windowsPlugin(finish(d, about), func(c C, env Env, o wire.WindowsOpen) (firing, error) {
		a, err := make(c)
		if err != nil {
			return nil, err
		}
		f := &folding[In, Acc, Out]{a: a, in: in, env: env, length: FoldRun}
		if o.FoldRun > 0 {
			f.length = o.FoldRun
		}
		return f, nil
	})
}

// folding runs an Aggregate over windows.
type folding[In, Acc, Out any] struct {
	a       Aggregate[In, Acc, Out]
	in      *shape
	env     Env
	length  int         // of a run
	readers []*rows[In] // one for each goroutine

	accs []Acc // one for each run of records
	runs []foldRun
}

// foldRun is a part of a window's records.
type foldRun struct{ from, to int }

func (f *folding[In, Acc, Out]) fire(w *windowsCall) error {
	f.cut(w)
	if err := f.fold(w); err != nil {
		return err
	}
	c := w.out.AddColumn(wire.ResultColumn)
	k := 0
	for i, n := range w.counts {
		acc := &f.accs[k] // an empty window has a run, too
		k++
		for left := int(n) - f.length; left > 0; left -= f.length {
			f.a.Merge(acc, &f.accs[k])
			k++
		}
		v, err := f.a.Result(acc)
		if err == nil {
			err = pushResult(w.out, c, v)
		}
		if err != nil {
			w.bad = append(w.bad, batch.BadRow{Row: uint32(i), Code: "refused", Message: err.Error()})
			continue
		}
		w.out.N++
		w.origin = append(w.origin, uint32(i))
	}
	clear(f.accs) // they may hold much memory
	return nil
}

// cut cuts the windows' records into runs: at least one for each window.
func (f *folding[In, Acc, Out]) cut(w *windowsCall) {
	f.runs = f.runs[:0]
	at := 0
	for _, n := range w.counts {
		end := at + int(n)
		for {
			to := min(end, at+f.length)
			f.runs = append(f.runs, foldRun{at, to})
			if at = to; at == end {
				break
			}
		}
	}
	if cap(f.accs) < len(f.runs) {
		f.accs = make([]Acc, len(f.runs))
	}
	f.accs = f.accs[:len(f.runs)]
}

// aloneBelow is how many records are folded by one goroutine: starting others would cost more than they bring.
const aloneBelow = 2 * FoldRun

// fold folds all runs. Which goroutine folds which does not show: a run has an accumulator of its own.
func (f *folding[In, Acc, Out]) fold(w *windowsCall) error {
	workers := 1
	if w.records.N >= aloneBelow {
		workers = min(runtime.GOMAXPROCS(0), len(f.runs))
	}
	for len(f.readers) < workers {
		f.readers = append(f.readers, newRows[In](f.in))
	}
	var next, left atomic.Int64
	work := func(r *rows[In]) {
		r.open(w.records)
		for {
			i := int(next.Add(1)) - 1
			if i >= len(f.runs) {
				return
			}
			for row := f.runs[i].from; row < f.runs[i].to; row++ {
				event, ok := r.at(row)
				if !ok {
					left.Add(1)
					continue
				}
				f.a.Add(&f.accs[i], *event, w.records.Times[row])
			}
		}
	}
	if workers == 1 {
		work(f.readers[0])
		countLeftOut(f.env, left.Load())
		return nil
	}
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { errs[i] = protect(func() error { work(f.readers[i]); return nil }) })
	}
	wg.Wait()
	countLeftOut(f.env, left.Load())
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func countLeftOut(env Env, n int64) {
	if n > 0 {
		env.Count("records_left_out_total", "Records of windows that lack a required field or have a value of another type in one.", float64(n))
	}
}

// pushResult appends a result to the column.
func pushResult(b *batch.Batch, c *batch.Column, v any) error {
	switch v.(type) {
	case nil, bool, int, int64, uint64, float64, string, time.Time, json.RawMessage:
		pushAny(b, c, v)
		return nil
	}
	p := reflect.ValueOf(v)
	switch p.Kind() {
	case reflect.Pointer:
		if p.IsNil() {
			push(c, batch.Null, 0)
			return nil
		}
		return pushResult(b, c, p.Elem().Interface())
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		push(c, batch.Int, uint64(p.Int()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		pushUint(c, p.Uint())
	case reflect.Float32, reflect.Float64:
		pushAny(b, c, p.Float())
	case reflect.Bool:
		push(c, batch.Bool, bit(p.Bool()))
	case reflect.String:
		pushText(b, c, batch.String, p.String())
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("the result cannot be written as JSON: %w", err)
		}
		pushText(b, c, batch.JSON, string(text))
	}
	return nil
}

// resultType is the cell type of a result.
func resultType(t reflect.Type) CellType {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == timeType {
		return wire.TimeCell
	}
	switch t.Kind() {
	case reflect.Bool:
		return wire.BoolCell
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return wire.IntCell
	case reflect.Float32, reflect.Float64:
		return wire.FloatCell
	case reflect.String:
		return wire.StringCell
	}
	return wire.AnyCell
}
