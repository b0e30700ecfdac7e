package sdktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

func (k *kit) sink() {
	k.try("it delivers, and goes on behind what it has", k.delivers)
	k.try("it ends at any moment", func() error {
		s, err := k.openSink()
		if err != nil {
			return err
		}
		return errors.Join(s.Close(), s.Close())
	})
}

func (k *kit) openSink() (wire.Sink, error) {
	return k.p.OpenSink(wire.SinkOpen{Plugin: k.d.Name, Options: k.s.Options.json(), Place: wire.Place{Pipeline: "kit", Component: "sink", Store: "kit"}}, k.runtime())
}

// deliveries makes numbered rows, as lines for a text sink and as columns for the others.
func (k *kit) delivery(first, n int) *batch.Batch {
	if !k.d.Text {
		var rows []map[string]any
		for i := range n {
			rows = append(rows, map[string]any{"user": fmt.Sprint("user", (first+i)%3), "n": int64(first + i)})
		}
		b := batchOf(rows, nil)
		b.Data, b.Offsets, b.Times = b.Data[:0], b.Offsets[:0], b.Times[:0]
		return b
	}
	b := batch.Get()
	b.N, b.Trailer = n, 1
	b.Offsets = append(b.Offsets, 0)
	for i := range n {
		b.Data = fmt.Appendf(b.Data, "row %d\n", first+i)
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	}
	return b
}

func (k *kit) delivers() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	s, err := k.openSink()
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	begin, known, err := s.LastDelivered(ctx)
	if err != nil {
		return err
	}
	if k.d.Delivery == wire.Transactional && !known {
		return errors.New("it is transactional and does not know the last number")
	}
	before, err := k.delivered()
	if err != nil {
		return err
	}
	next := int(begin) + 1
	var want []string
	write := func(n int) error {
		b := k.delivery(next, n)
		defer b.Release()
		if err := s.Write(ctx, uint64(next), b); err != nil {
			return fmt.Errorf("write rows %d to %d: %w", next, next+n-1, err)
		}
		for i := range n {
			want = append(want, fmt.Sprint("row ", next+i))
		}
		next += n
		return nil
	}
	sizes := []int{1, 3, 100}
	if !k.s.NoSpeed {
		sizes = append(sizes, 4096) // a delivery as the daemon makes them when there is much to deliver
	}
	for _, n := range sizes {
		start := time.Now()
		if err := write(n); err != nil {
			return err
		}
		if n > 1000 {
			k.report.NsPerRow = float64(time.Since(start).Nanoseconds()) / float64(n)
		}
	}
	if err := k.lastIs(ctx, s, next-1); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if s, err = k.openSink(); err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	if err := k.lastIs(ctx, s, next-1); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	if err := write(2); err != nil {
		return err
	}
	if k.d.Delivery == wire.Idempotent {
		b := k.delivery(next-2, 2)
		defer b.Release()
		if err := s.Write(ctx, uint64(next-2), b); err != nil {
			return fmt.Errorf("the same rows again: %w", err)
		}
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	after, err := k.delivered()
	if err != nil || k.s.Delivered == nil {
		return err
	}
	got := after[min(len(before), len(after)):]
	if k.d.Text && !slices.Equal(got, want) {
		return fmt.Errorf("what was delivered is not what is there: %s", firstDifference(want, got))
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d rows were delivered and %d are there", len(want), len(got))
	}
	return nil
}

func (k *kit) delivered() ([]string, error) {
	if k.s.Delivered == nil {
		return nil, nil
	}
	return k.s.Delivered()
}

func (k *kit) lastIs(ctx context.Context, s wire.Sink, want int) error {
	n, known, err := s.LastDelivered(ctx)
	if err != nil {
		return err
	}
	if known && n != uint64(want) {
		return fmt.Errorf("row %d has been taken, and it says that the last one is %d", want, n)
	}
	return nil
}
