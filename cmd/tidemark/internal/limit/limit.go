package limit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
)

const (
	chunkBytes = 128 << 10 // with its columns it fits the second level cache
	chunkSpare = 16 << 10  // room for the beginning of a line that the next chunk has the end of
	chunks     = 16
)

// chunk is a run of lines with its columns.
type chunk struct {
	data   []byte
	hashes []uint64
	keys   []uint64 // place << 8 | length
	times  []int64
	values []float64
	rows   [][]uint32 // for each shard
	high   int64      // highest time
	done   chan struct{}
	left   atomic.Int32 // shards that have not finished with it
}

// Job is what is to be done.
type Job struct {
	Input, Output string
	Size, Bound   int64 // of a window and of disorder, in ms
	Workers       int   // decoders, and shards; 0: GOMAXPROCS
}

func hashKey(key []byte) uint64 { return xxh3.Hash(key) }

// Run does the job and returns the number of records.
func Run(job Job) (records int64, err error) {
	in, err := os.Open(job.Input)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.Create(job.Output)
	if err != nil {
		return 0, err
	}
	workers := job.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	group, ctx := errgroup.WithContext(context.Background())
	free := make(chan *chunk, chunks)
	for range chunks {
		free <- &chunk{data: make([]byte, 0, chunkBytes+chunkSpare), done: make(chan struct{}, 1), rows: make([][]uint32, workers)}
	}
	work, order := make(chan *chunk, chunks), make(chan *chunk, chunks)
	group.Go(func() error {
		defer close(work)
		defer close(order)
		return read(ctx, in, free, work, order)
	})
	for range workers {
		group.Go(func() error {
			for c := range work {
				if err := c.decode(workers); err != nil {
					return err
				}
				c.done <- struct{}{}
			}
			return nil
		})
	}
	w := &writer{to: out}
	shards := make([]chan *chunk, workers)
	for i := range shards {
		shards[i] = make(chan *chunk, chunks)
		s := newShard(i, job.Size, job.Bound, w)
		group.Go(func() error { return s.run(ctx, shards[i], free) })
	}
	group.Go(func() error {
		for i := range shards {
			defer close(shards[i])
		}
		for c := range order {
			select {
			case <-c.done:
			case <-ctx.Done():
				return nil
			}
			records += int64(len(c.times))
			c.left.Store(int32(workers))
			for _, s := range shards {
				s <- c // has room for all chunks there are
			}
		}
		return nil
	})
	err = group.Wait()
	if closed := out.Close(); err == nil {
		err = closed
	}
	return records, err
}

// read cuts the input into chunks.
func read(ctx context.Context, in io.Reader, free <-chan *chunk, work, order chan<- *chunk) error {
	var rest []byte
	for {
		var c *chunk
		select {
		case c = <-free:
		case <-ctx.Done():
			return nil
		}
		c.data = append(c.data[:0], rest...)
		n, err := io.ReadFull(in, c.data[len(c.data):len(rest)+chunkBytes])
		c.data = c.data[:len(rest)+n]
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return err
		}
		end := bytes.LastIndexByte(c.data, '\n') + 1
		if last && end != len(c.data) {
			return fmt.Errorf("the last line has no end")
		}
		rest = append(rest[:0], c.data[end:]...)
		if len(rest) > chunkSpare-8 {
			return fmt.Errorf("a line of more than %d bytes", chunkSpare)
		}
		c.data = c.data[:end]
		if end > 0 {
			work <- c
			order <- c
		}
		if last {
			return nil
		}
	}
}

// decode fills the columns.
func (c *chunk) decode(shards int) error {
	c.hashes, c.keys, c.times, c.values, c.high = c.hashes[:0], c.keys[:0], c.times[:0], c.values[:0], 0
	for s := range c.rows {
		c.rows[s] = c.rows[s][:0]
	}
	end := len(c.data)
	data := c.data[:end+8] // the scanner looks at words
	var e event
	for i := 0; i < end; {
		next, err := line(data, i, &e)
		if err != nil {
			return err
		}
		i = next
		if e.keyEnd-e.key > maxKey {
			return fmt.Errorf("a key of more than %d bytes", maxKey)
		}
		h := hashKey(data[e.key:e.keyEnd])
		s := int(h >> 57 * uint64(shards) >> 7)
		c.rows[s] = append(c.rows[s], uint32(len(c.times)))
		c.hashes = append(c.hashes, h)
		c.keys = append(c.keys, uint64(e.key)<<8|uint64(e.keyEnd-e.key))
		c.times = append(c.times, e.ts)
		c.values = append(c.values, e.value)
		c.high = max(c.high, e.ts)
	}
	return nil
}
