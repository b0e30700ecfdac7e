package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/baseline"
)

// Latency says how old results are when they arrive: from the moment at which the record was to be sent whose watermark closed their window,
// until they stand in the output. The schedule of sending is fixed beforehand, so a program that holds the sender back gains nothing by it.
type Latency struct {
	Rate   float64 `json:"rate"` // records a second
	Rows   int     `json:"rows"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	P999   float64 `json:"p99_9_ms"`
	Max    float64 `json:"max_ms"`
	Behind float64 `json:"sender_behind_max_ms"` // how far the sender itself was behind its schedule
}

// latency sends the input in real time and looks at the output as it grows.
func (b *bencher) latency(ctx context.Context, p *prepared, c Contestant, round int) (Sample, error) {
	closers, err := p.closers()
	if err != nil {
		return Sample{}, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Sample{}, err
	}
	defer l.Close()
	x, err := b.newChild(p, c, round, []string{l.Addr().String()})
	if err != nil {
		return Sample{}, err
	}
	defer x.remove()
	rate := p.Input.Events.Rate
	var ages []float64
	var rows int64
	var behind time.Duration
	s, err := x.finish(ctx, x.command(ctx, ""), func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		start := make(chan time.Time, 1)
		group.Go(func() error {
			return serve(ctx, l, func(conn net.Conn) (err error) {
				begun := time.Now()
				start <- begun
				behind, err = sendPaced(ctx, conn, p.path, rate, begun)
				return err
			})
		})
		group.Go(func() (err error) {
			var begun time.Time
			select {
			case begun = <-start:
			case <-ctx.Done():
				return ctx.Err()
			}
			ages, rows, err = arrivals(ctx, x.output(), func(end int64) (time.Time, bool) {
				n, ok := closers[end]
				return begun.Add(time.Duration(float64(n) / rate * float64(time.Second))), ok
			})
			return err
		})
		return group.Wait()
	})
	if err != nil {
		return s, err
	}
	if err := x.judge(&s); err != nil {
		return s, err
	}
	if s.Wrong == "" && rows != p.Truth.Digest.Rows { // ages that are missing would be those of the last results
		return s, fmt.Errorf("%d results were seen as they arrived, but there are %d", rows, p.Truth.Digest.Rows)
	}
	s.Latency = quantiles(ages)
	s.Latency.Rate, s.Latency.Behind = rate, float64(behind.Microseconds())/1000
	return s, nil
}

// closers finds, for each window's end, the number of the record whose watermark closes it. Windows that only the end of the input closes
// are left out.
func (p *prepared) closers() (map[int64]int64, error) {
	in, err := p.open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out := map[int64]int64{}
	size, bound := p.Size.Milliseconds(), p.Bound().Milliseconds()
	n, highest, next := int64(0), int64(math.MinInt64), int64(math.MinInt64)
	err = baseline.Times(in, func(ts int64) {
		if highest = max(highest, ts); next == math.MinInt64 {
			next = ts - ts%size // nothing ends before
		}
		for highest >= next+bound {
			out[next] = n
			next += size
		}
		n++
	})
	return out, err
}

// sendPaced sends line i at begun + i/rate; it wakes up every millisecond for those that are due. It returns how far it was behind.
func sendPaced(ctx context.Context, to io.Writer, path string, rate float64, begun time.Time) (behind time.Duration, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	var buf []byte
	for sent := 0; ; {
		due := int(time.Since(begun).Seconds() * rate)
		buf = buf[:0]
		for ; sent < due; sent++ {
			line, err := in.ReadSlice('\n')
			if err == io.EOF {
				_, err := to.Write(buf)
				return behind, err
			}
			if err != nil {
				return behind, err
			}
			buf = append(buf, line...)
		}
		if _, err := to.Write(buf); err != nil {
			return behind, err
		}
		behind = max(behind, time.Since(begun)-time.Duration(float64(sent)/rate*float64(time.Second)))
		select {
		case <-ctx.Done():
			return behind, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// look is how often the output is looked at: it bounds what the measuring itself adds.
const look = 250 * time.Microsecond

// arrivals follows a file until ctx is done and it has been read to its end. It returns how old each row is when it is seen, in ms, of those
// that have a due time, and how many rows there are in all.
func arrivals(ctx context.Context, path string, due func(end int64) (time.Time, bool)) (ages []float64, rows int64, err error) {
	var f *os.File
	defer func() {
		if f != nil {
			f.Close()
		}
	}()
	buf := make([]byte, 1<<20)
	var rest []byte
	label := []byte(`"window_end":"`)
	texts := map[string]int64{}
	for {
		ended := ctx.Err() != nil // whoever writes has ended: what is there now is all
		var n int
		var err error
		if f == nil {
			if f, err = os.Open(path); err != nil {
				f = nil
			}
		}
		if f != nil {
			if n, err = f.Read(buf); err != nil && err != io.EOF {
				return ages, rows, err
			}
		}
		if n == 0 && ended {
			return ages, rows, nil
		}
		if n == 0 {
			select {
			case <-ctx.Done():
			case <-time.After(look):
			}
			continue
		}
		now := time.Now()
		rest = append(rest, buf[:n]...)
		for {
			line, after, found := bytes.Cut(rest, []byte("\n"))
			if !found {
				break
			}
			_, end, found := bytes.Cut(line, label)
			if found {
				rows++
				end, _, _ = bytes.Cut(end, []byte(`"`))
				ms, known := texts[string(end)]
				if !known {
					t, err := time.Parse(time.RFC3339Nano, string(end))
					if err != nil {
						return ages, rows, fmt.Errorf("result %q: %w", line, err)
					}
					ms = t.UnixMilli()
					texts[string(end)] = ms
				}
				if at, ok := due(ms); ok {
					ages = append(ages, float64(now.Sub(at).Microseconds())/1000)
				}
			}
			rest = after
		}
		rest = append(buf[len(buf):len(buf):len(buf)], rest...) // a copy: the beginning is done with
	}
}

func quantiles(ages []float64) *Latency {
	l := &Latency{Rows: len(ages)}
	if len(ages) == 0 {
		return l
	}
	slices.Sort(ages)
	at := func(q float64) float64 { return ages[min(int(q*float64(len(ages))), len(ages)-1)] }
	l.P50, l.P99, l.P999, l.Max = at(0.5), at(0.99), at(0.999), ages[len(ages)-1]
	return l
}
