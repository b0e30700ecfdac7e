package sdktest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

func (k *kit) transform() {
	rows, previous := k.records(k.s.Records)
	k.try("batches do not show", func() error {
		want, err := k.transformed(rows, previous, 1)
		if err != nil {
			return err
		}
		for _, size := range []int{1, 2, 7, 64, len(rows)} {
			got, err := k.transformed(rows, previous, size)
			if err != nil {
				return fmt.Errorf("in batches of %d: %w", size, err)
			}
			if d := firstDifference(want, got); d != "" {
				return hinted("a transform looks at records and at nothing else: no clock, no randomness", "in batches of 1 and of %d: %s", size, d)
			}
		}
		return nil
	})
	k.try("a snapshot and a restart at every place do not show", func() error { return k.transformRestarts(rows, previous) })
	k.try("disorder and duplicates are survived", func() error {
		twice, times := append(slices.Clone(rows), rows...), append(slices.Clone(previous), previous...)
		slices.Reverse(twice[:len(rows)])
		slices.Reverse(times[:len(rows)])
		_, err := k.transformed(twice, times, 64)
		return err
	})
	k.try("missing and odd values are survived", func() error {
		for _, odd := range []any{nil, true, "odd", -1, 1e300, []byte(`{"a":1}`)} {
			row := map[string]any{}
			for _, f := range k.fields() {
				row[f.Name] = odd
			}
			if _, err := k.transformed([]map[string]any{{}, row}, previous[:2], 2); err != nil {
				return fmt.Errorf("a record whose fields are all %#v: %w", odd, err)
			}
		}
		return nil
	})
	k.try("it ends at any moment", func() error {
		t, err := k.openTransform()
		if err != nil {
			return err
		}
		return errors.Join(t.Close(), t.Close())
	})
	if !k.s.NoSpeed {
		k.try("speed", k.transformSpeed)
	}
}

// transformRestarts takes a snapshot after so many records, and has another instance go on from it.
func (k *kit) transformRestarts(rows []map[string]any, previous []int64) error {
	want, err := k.transformed(rows, previous, len(rows))
	if err != nil {
		return err
	}
	for at := range rows {
		if at > 20 && at%17 != 0 {
			continue
		}
		first, err := k.openTransform()
		if err != nil {
			return err
		}
		got, err := k.through(first, rows[:at], previous[:at], 5, 0)
		var state []byte
		if err == nil {
			err = first.Barrier(9)
		}
		if err == nil {
			var e wire.TransformEvent
			if e, err = first.Recv(); err == nil {
				state = append(state, e.State...)
			}
		}
		_ = first.Close()
		if err != nil {
			return fmt.Errorf("snapshot after record %d: %w", at, err)
		}
		second, err := k.openTransform()
		if err != nil {
			return err
		}
		var rest []string
		if err = second.Restore(state); err == nil {
			rest, err = k.through(second, rows[at:], previous[at:], 7, at)
		}
		_ = second.Close()
		if err != nil {
			return fmt.Errorf("restart after record %d: %w", at, err)
		}
		if d := firstDifference(want, append(got, rest...)); d != "" {
			how := "Restore does not bring back all that Snapshot has seen"
			if len(state) == 0 {
				how = "the transform remembers something: implement sdk.Snapshotter, so that a checkpoint can hold it"
			}
			return hinted(how, "restarted after %d records: %s", at, d)
		}
		k.stateful(len(state) > 0)
	}
	return nil
}

func (k *kit) openTransform() (wire.Transform, error) {
	return k.p.OpenTransform(wire.TransformOpen{Plugin: k.d.Name, Options: k.s.Options.json()}, k.runtime())
}

// transformed is what comes out, as text with the number of the record it comes from.
func (k *kit) transformed(rows []map[string]any, previous []int64, size int) ([]string, error) {
	t, err := k.openTransform()
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return k.through(t, rows, previous, size, 0)
}

// through is what a running transform makes of rows, which begin with the record number begin.
func (k *kit) through(t wire.Transform, rows []map[string]any, previous []int64, size, begin int) ([]string, error) {
	var out []string
	for from := 0; from < len(rows); from += size {
		to := min(from+size, len(rows))
		b := batchOf(rows[from:to], previous[from:to])
		if err := t.Process(b); err != nil {
			return nil, err
		}
		e, err := t.Recv()
		if err != nil {
			return nil, err
		}
		refused := b.Bad // in the order of the rows, as the others are: both in one list must not show where a batch ends
		said := func(before uint32) {
			for len(refused) > 0 && refused[0].Row < before {
				out = append(out, fmt.Sprintf("%d: refused, %s", begin+from+int(refused[0].Row), refused[0].Code))
				refused = refused[1:]
			}
		}
		for i := range e.Out.N {
			said(e.Origin[i])
			out = append(out, fmt.Sprintf("%d: %s @%d", begin+from+int(e.Origin[i]), rowText(e.Out, i), e.Out.Times[i]))
		}
		said(math.MaxUint32)
		e.Out.Release()
		b.Release()
	}
	return out, nil
}
