package sdktest

import (
	"errors"
	"io"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// How much is measured at the most: a source may be slow by intention.
const (
	speedRows = 200_000
	speedTime = 2 * time.Second
)

// transformSpeed gives the same batch again and again.
func (k *kit) transformSpeed() error {
	const size, rounds = 4096, 20
	rows, previous := k.records(size)
	t, err := k.openTransform()
	if err != nil {
		return err
	}
	defer t.Close()
	b := batchOf(rows, previous)
	defer b.Release()
	start := time.Now()
	for range rounds {
		b.Sel, b.Bad = nil, b.Bad[:0]
		if err := t.Process(b); err != nil {
			return err
		}
		e, err := t.Recv()
		if err != nil {
			return err
		}
		e.Out.Release()
	}
	k.report.NsPerRow = float64(time.Since(start).Nanoseconds()) / (size * rounds)
	return nil
}

// sourceSpeed reads with the daemon's own batch size, from the first batch on: a source that waits for the world begins late.
func (k *kit) sourceSpeed() error {
	s, err := k.openSource()
	if err != nil {
		return err
	}
	end := time.AfterFunc(speedTime, func() { _ = s.Close() }) // one that is silent has no speed
	defer end.Stop()
	defer s.Close()
	rows := 0
	var start, last time.Time
	for rows < speedRows {
		e, err := s.Recv()
		if errors.Is(err, io.EOF) || err != nil && !end.Stop() {
			break
		}
		if err != nil {
			return err
		}
		if e.Batch != nil {
			last = time.Now()
			if start.IsZero() {
				start = last // the rows of the first batch were made before
			} else {
				rows += e.Batch.N
			}
			e.Batch.Release()
		}
		if e.Kind == wire.SourceEnded || e.Kind == wire.SourceStopped {
			break
		}
	}
	if rows > 0 {
		k.report.NsPerRow = float64(last.Sub(start).Nanoseconds()) / float64(rows)
	}
	return nil
}
