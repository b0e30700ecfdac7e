package baseline

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Row is one result: of a key and window, or of a record (Start is its time, N is 1). What a job does not compute is 0.
type Row struct {
	Key           string
	Start, End    int64 // ms
	N             int64
	Sum, Min, Max int64 // of value, in hundredths
}

// event is what the jobs read of a line.
type event struct {
	key   []byte
	ts    int64
	cents int64
}

// each calls f for the events of in. The lines are those of package workload, and nothing else is understood.
func each(in io.Reader, f func(e event)) error {
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		e, err := parse(line[:len(line)-1])
		if err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		f(e)
	}
}

func parse(line []byte) (e event, err error) {
	if line[0] != '{' {
		key, ts, _ := bytes.Cut(line, []byte(" "))
		e.key = key
		e.ts, err = strconv.ParseInt(string(ts), 10, 64)
		return e, err
	}
	e.key = between(line, `"key":"`, '"')
	if e.ts, err = strconv.ParseInt(string(between(line, `"ts":`, ',')), 10, 64); err != nil {
		return e, err
	}
	units, cents, _ := bytes.Cut(between(line, `"value":`, ','), []byte("."))
	u, err := strconv.ParseInt(string(units), 10, 64)
	if err != nil {
		return e, err
	}
	c, err := strconv.ParseInt(string(cents), 10, 64)
	e.cents = u*100 + c
	return e, err
}

// between is what stands in line after label, up to end.
func between(line []byte, label string, end byte) []byte {
	_, rest, _ := bytes.Cut(line, []byte(label))
	if i := bytes.IndexByte(rest, end); i >= 0 {
		return rest[:i]
	}
	return rest
}

// acc is what is known of one key in one window.
type acc struct{ n, sum, min, max int64 }

func newAcc() *acc { return &acc{min: math.MaxInt64, max: math.MinInt64} }

func (a *acc) add(cents int64) {
	a.n, a.sum, a.min, a.max = a.n+1, a.sum+cents, min(a.min, cents), max(a.max, cents)
}

func (a *acc) merge(b *acc) {
	a.n, a.sum, a.min, a.max = a.n+b.n, a.sum+b.sum, min(a.min, b.min), max(a.max, b.max)
}

// Totals counts and sums per key and tumbling window of size ms. The watermark follows the highest time at bound+1 ms; windows that it
// has passed are emitted. Rows of one window come in no particular order.
func Totals(in io.Reader, size, bound int64, emit func(Row)) error {
	windows := map[int64]map[string]*acc{} // by start
	fire := func(w int64) {
		for start, keys := range windows {
			if start+size-1 > w {
				continue
			}
			for key, a := range keys {
				emit(Row{key, start, start + size, a.n, a.sum, a.min, a.max})
			}
			delete(windows, start)
		}
	}
	highest, next := int64(math.MinInt64), int64(math.MinInt64)
	err := each(in, func(e event) {
		start := e.ts - e.ts%size
		keys := windows[start]
		if keys == nil {
			keys = map[string]*acc{}
			windows[start] = keys
		}
		a := keys[string(e.key)]
		if a == nil {
			a = newAcc()
			keys[string(e.key)] = a
		}
		a.add(e.cents)
		if highest = max(highest, e.ts); highest >= next {
			w := highest - bound - 1
			fire(w)
			next = (w+1)/size*size + size + bound // the time that ends the next window
		}
	})
	fire(math.MaxInt64)
	return err
}

// Times gives the times of all lines in their order.
func Times(in io.Reader, f func(ts int64)) error { return each(in, func(e event) { f(e.ts) }) }
