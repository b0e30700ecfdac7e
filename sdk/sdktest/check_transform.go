package sdktest

import (
	"errors"
	"fmt"
	"math"

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
}

func (k *kit) openTransform() (wire.Transform, error) {
	return k.p.OpenTransform(wire.TransformOpen{Plugin: k.d.Name, Options: k.s.Options.json()}, wire.Runtime{})
}

// transformed is what comes out, as text with the number of the record it comes from.
func (k *kit) transformed(rows []map[string]any, previous []int64, size int) ([]string, error) {
	t, err := k.openTransform()
	if err != nil {
		return nil, err
	}
	defer t.Close()
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
				out = append(out, fmt.Sprintf("%d: refused, %s", from+int(refused[0].Row), refused[0].Code))
				refused = refused[1:]
			}
		}
		for i := range e.Out.N {
			said(e.Origin[i])
			out = append(out, fmt.Sprintf("%d: %s @%d", from+int(e.Origin[i]), rowText(e.Out, i), e.Out.Times[i]))
		}
		said(math.MaxUint32)
		e.Out.Release()
		b.Release()
	}
	return out, nil
}
