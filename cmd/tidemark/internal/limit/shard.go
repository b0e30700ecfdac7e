package limit

import (
	"context"
	"math"
	"os"
	"strconv"
	"sync"
	"time"
)

// shard adds up the events of its share of the keys.
type shard struct {
	number      int
	size, bound int64
	out         *writer
	windows     []window // open ones
	spare       []*table
	highest     int64
	text        []byte
}

type window struct {
	start int64
	table *table
}

func newShard(number int, size, bound int64, out *writer) *shard {
	return &shard{number: number, size: size, bound: bound, out: out, highest: math.MinInt64}
}

// run takes chunks in the order of the file.
func (s *shard) run(ctx context.Context, in <-chan *chunk, free chan<- *chunk) error {
	for c := range in {
		s.add(c)
		s.highest = max(s.highest, c.high)
		if c.left.Add(-1) == 0 {
			free <- c // has room for all chunks there are
		}
		if err := s.fire(s.highest - s.bound - 1); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return s.fire(math.MaxInt64)
}

func (s *shard) add(c *chunk) {
	var t *table
	start := int64(math.MaxInt64)
	for _, r := range c.rows[s.number] {
		ts := c.times[r]
		if ts-start >= s.size || ts < start {
			start = ts - ts%s.size
			t = s.window(start)
		}
		k := c.keys[r]
		at := k >> 8
		t.add(c.hashes[r], c.data[at:at+k&0xFF], c.values[r])
	}
}

// window finds or opens a window.
func (s *shard) window(start int64) *table {
	for i := range s.windows {
		if s.windows[i].start == start {
			return s.windows[i].table
		}
	}
	var t *table
	if n := len(s.spare); n > 0 {
		t, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		t = newTable(1 << 12)
	}
	s.windows = append(s.windows, window{start, t})
	return t
}

// fire writes the windows that the watermark has passed.
func (s *shard) fire(watermark int64) error {
	kept := s.windows[:0]
	for _, w := range s.windows {
		if w.start+s.size-1 > watermark {
			kept = append(kept, w)
			continue
		}
		if err := s.write(w); err != nil {
			return err
		}
		w.table.clear()
		s.spare = append(s.spare, w.table)
	}
	s.windows = kept
	return nil
}

func (s *shard) write(w window) error {
	stamp := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
	middle := `","window_start":"` + stamp(w.start) + `","window_end":"` + stamp(w.start+s.size) + `","n":`
	b := s.text[:0]
	for i := range w.table.entries {
		e := &w.table.entries[i]
		if e.tag == 0 {
			continue
		}
		b = append(b, `{"key":"`...)
		b = append(b, e.key[:e.length]...)
		b = append(b, middle...)
		b = strconv.AppendInt(b, e.n, 10)
		b = append(b, `,"sum":`...)
		b = strconv.AppendFloat(b, e.sum, 'f', -1, 64)
		b = append(b, `,"min":`...)
		b = strconv.AppendFloat(b, e.min, 'f', -1, 64)
		b = append(b, `,"max":`...)
		b = strconv.AppendFloat(b, e.max, 'f', -1, 64)
		b = append(b, "}\n"...)
		if len(b) > 256<<10 {
			if err := s.out.write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	s.text = b[:0]
	return s.out.write(b)
}

// writer joins the shards' rows.
type writer struct {
	mu sync.Mutex
	to *os.File
}

func (w *writer) write(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.to.Write(b)
	return err
}
