package sdktest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// windows tries an aggregate or a window function.
func (k *kit) windows() {
	all := k.someWindows()
	k.try("other windows do not show", func() error {
		var want []string
		for i := range all { // each by itself, in an instance of its own
			got, err := k.fired(all[i:i+1], 0)
			if err != nil {
				return fmt.Errorf("a window of %d records: %w", len(all[i].Records), err)
			}
			for _, line := range got {
				want = append(want, strings.Replace(line, "0:", strconv.Itoa(i)+":", 1))
			}
		}
		for range 2 {
			got, err := k.fired(all, 0)
			if err != nil {
				return err
			}
			if d := firstDifference(want, got); d != "" {
				return hinted("it looks at the window's records and at nothing else: no clock, no randomness, nothing kept from the window before",
					"alone and with other windows: %s", d)
			}
		}
		return nil
	})
	if _, here := k.p.(sdk.Plugin); here && k.d.Kind == wire.KindAggregate {
		k.try("merging does not show", func() error {
			want, err := k.fired(all, math.MaxInt32)
			if err != nil {
				return err
			}
			for _, run := range []int{1, 2, 7} {
				got, err := k.fired(all, run)
				if err != nil {
					return err
				}
				if d := firstFar(want, got); d != "" {
					return hinted("Merge(a, b) has to be as good as Adding b's records to a; the zero Acc is an accumulator without records",
						"folded whole, and in runs of %d that are merged: %s", run, d)
				}
			}
			return nil
		})
	}
	k.try("missing and odd values are survived", func() error {
		for _, odd := range []any{nil, true, "odd", -1, 1e300, []byte(`{"a":1}`)} {
			row := map[string]any{}
			for _, f := range k.fields() {
				row[f.Name] = odd
			}
			if _, err := k.fired([]Window{{Start: 0, End: 1000, Records: []any{map[string]any{}, row, row}}}, 0); err != nil {
				return fmt.Errorf("records whose fields are all %#v: %w", odd, err)
			}
		}
		return nil
	})
	k.try("times before 1970 and equal times are survived", func() error {
		w := all[len(all)-1]
		w.Times = make([]int64, len(w.Records))
		for i := range w.Times {
			w.Times[i] = -1_000_000
		}
		w.Start, w.End = -1_000_000, 0
		_, err := k.fired([]Window{w}, 0)
		return err
	})
	k.try("it ends at any moment", func() error {
		run, err := k.openWindows(0)
		if err != nil {
			return err
		}
		return errors.Join(run.Close(), run.Close())
	})
	if !k.s.NoSpeed {
		k.try("speed", k.windowsSpeed)
	}
}

// someWindows are windows of different lengths, an empty one among them.
func (k *kit) someWindows() []Window {
	rows, _ := k.records(k.s.Records)
	var out []Window
	length, start := 0, int64(kitTime)
	for len(rows) > 0 {
		n := min(length, len(rows))
		w := Window{Start: start, End: start + 60_000, Values: map[string]any{"key": fmt.Sprint("k", len(out))}}
		for i, r := range rows[:n] {
			w.Records = append(w.Records, r)
			w.Times = append(w.Times, start+int64(i/2)) // pairs at one time
		}
		out, rows, start, length = append(out, w), rows[n:], start+60_000, 2*length+1
	}
	return out
}

func (k *kit) openWindows(run int) (wire.Windows, error) {
	return k.p.OpenWindows(wire.WindowsOpen{Kind: k.d.Kind, Plugin: k.d.Name, Options: k.s.Options.json(), FoldRun: run,
		Columns: []string{"key", "window_start", "window_end"}}, k.runtime())
}

// fired is what comes out, as text with the number of the window.
func (k *kit) fired(windows []Window, foldRun int) ([]string, error) {
	run, err := k.openWindows(foldRun)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	c, err := callOf(windows)
	if err != nil {
		return nil, err
	}
	defer c.release()
	e, err := c.fire(run)
	if err != nil {
		return nil, err
	}
	defer e.Out.Release()
	var out []string
	refused := c.windows.Bad
	said := func(before uint32) {
		for len(refused) > 0 && refused[0].Row < before {
			out = append(out, fmt.Sprintf("%d: refused, %s", refused[0].Row, refused[0].Message))
			refused = refused[1:]
		}
	}
	for i := range e.Out.N {
		said(e.Origin[i])
		out = append(out, fmt.Sprintf("%d: %s", e.Origin[i], rowText(e.Out, i)))
	}
	said(math.MaxUint32)
	return out, nil
}

// firstFar is firstDifference, but that numbers may differ in their last digits: floats are added in another order when they are merged.
func firstFar(want, got []string) string {
	for i := range min(len(want), len(got)) {
		if !near(want[i], got[i]) {
			return firstDifference(want[i:i+1], got[i:i+1])
		}
	}
	if len(want) != len(got) {
		return firstDifference(want, got)
	}
	return ""
}

func near(a, b string) bool {
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" =,:[]{}\"", r) })
	}
	x, y := split(a), split(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		f, err1 := strconv.ParseFloat(x[i], 64)
		g, err2 := strconv.ParseFloat(y[i], 64)
		if err1 != nil || err2 != nil || math.Abs(f-g) > 1e-9*max(math.Abs(f), math.Abs(g)) {
			return false
		}
	}
	return true
}

func (k *kit) windowsSpeed() error {
	const windows, length, rounds = 64, 64, 20
	rows, _ := k.records(windows * length)
	var all []Window
	for i := range windows {
		w := Window{Start: int64(i) * 1000, End: int64(i+1) * 1000, Values: map[string]any{"key": "k"}}
		for _, r := range rows[i*length : (i+1)*length] {
			w.Records = append(w.Records, r)
		}
		all = append(all, w)
	}
	run, err := k.openWindows(0)
	if err != nil {
		return err
	}
	defer run.Close()
	c, err := callOf(all)
	if err != nil {
		return err
	}
	defer c.release()
	start := time.Now()
	for range rounds {
		c.windows.Sel, c.windows.Bad = nil, c.windows.Bad[:0]
		e, err := c.fire(run)
		if err != nil {
			return err
		}
		e.Out.Release()
	}
	k.report.NsPerRow = float64(time.Since(start).Nanoseconds()) / (windows * length * rounds)
	return nil
}
