package workload

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/tidemark-stream/tidemark/plugins/source/generate"
)

// Shape is what a line looks like.
type Shape string

// The shapes.
const (
	JSON  Shape = "json"  // {"key":"user-00005191","ts":1699999999894,"region":"eu-west-1","type":"login","value":88.04,"seq":10000000}
	Pairs Shape = "pairs" // user-00005191 1699999999894
)

// Input says which lines a file has.
type Input struct {
	Events generate.Workload
	Lines  int64
	Shape  Shape
	// Pad is how many bytes a field "pad" adds to each JSON line; 0 leaves the field out.
	Pad int
}

// FileName tells inputs apart: equal names have equal bytes.
func (in Input) FileName() string {
	w := in.Events
	name := fmt.Sprintf("%s-n%d-k%d-r%g-d%d-t%d-s%d", in.Shape, in.Lines, w.Keys, w.Rate, w.Disorder, w.Start, w.Seed)
	if w.Skew != 0 {
		name += fmt.Sprintf("-z%g", w.Skew)
	}
	if in.Pad > 0 {
		name += fmt.Sprintf("-p%d", in.Pad)
	}
	return name
}

// Check says what is wrong with an input that cannot be written.
func (in Input) Check() error {
	if _, err := in.appender(); err != nil {
		return err
	}
	_, err := generate.NewGenerator(in.Events)
	return err
}

// appender writes an event as a line of the input's shape.
func (in Input) appender() (func([]byte, generate.Event) []byte, error) {
	switch in.Shape {
	case Pairs:
		if in.Pad > 0 {
			return nil, errors.New("pairs cannot be padded; only JSON lines have room for another field")
		}
		return generate.AppendPair, nil
	case JSON:
		if in.Pad == 0 {
			return generate.AppendJSON, nil
		}
		pad := make([]byte, in.Pad)
		for i := range pad {
			pad[i] = 'x'
		}
		return func(dst []byte, e generate.Event) []byte {
			dst = generate.AppendJSON(dst, e)
			dst = append(dst[:len(dst)-len("}\n")], `,"pad":"`...)
			dst = append(dst, pad...)
			return append(dst, "\"}\n"...)
		}, nil
	}
	return nil, fmt.Errorf("shape %q is not one; it is %q or %q", in.Shape, JSON, Pairs)
}

// chunkEvents is how many events go from one goroutine to another at a time: enough that handing over costs nothing.
const chunkEvents = 4096

// chunk is a run of events on its way to text.
type chunk struct {
	events []generate.Event
	text   []byte
	done   chan struct{} // has room for the one token of whoever has written text
}

// Write writes the lines to w. Random numbers have to be drawn one after the other, but lines are written side by side.
func (in Input) Write(w io.Writer) error {
	line, err := in.appender()
	if err != nil {
		return err
	}
	gen, err := generate.NewGenerator(in.Events)
	if err != nil {
		return err
	}
	writers := runtime.GOMAXPROCS(0)
	free := make(chan *chunk, 2*writers+2)
	for range cap(free) {
		free <- &chunk{done: make(chan struct{}, 1)}
	}
	work := make(chan *chunk, cap(free))
	order := make(chan *chunk, cap(free))
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for c := range work {
				c.text = c.text[:0]
				for _, e := range c.events {
					c.text = line(c.text, e)
				}
				c.done <- struct{}{}
			}
		})
	}
	stop := make(chan struct{})
	group.Go(func() {
		defer close(work)
		defer close(order)
		for left := in.Lines; left > 0; {
			var c *chunk
			select {
			case c = <-free:
			case <-stop:
				return
			}
			c.events = c.events[:0]
			for range min(left, chunkEvents) {
				c.events = append(c.events, gen.Next())
			}
			left -= int64(len(c.events))
			work <- c
			order <- c
		}
	})
	for c := range order {
		<-c.done
		if _, err = w.Write(c.text); err != nil {
			close(stop)
			for range order { // so that nobody is left waiting
			}
			break
		}
		free <- c
	}
	group.Wait()
	return err
}
