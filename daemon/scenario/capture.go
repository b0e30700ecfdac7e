package scenario

import (
	"context"
	"fmt"
	"sync"

	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// captures keep what comes out of a case's components, over all its lives.
type captures struct {
	mu    sync.Mutex
	sinks map[string]*captured
}

// captured is what came out at one place. What was emitted since the last commit is lost with a crash, and is emitted again by the next
// life; what was delivered stays, as it would at a transactional sink.
type captured struct {
	emitted   []string
	committed int // rows of emitted that the last commit has
	looked    int // rows of emitted that an expectation has seen
	steps     []int
	delivered []string
}

func newCaptures() *captures { return &captures{sinks: map[string]*captured{}} }

func (c *captures) of(sink string) *captured {
	s := c.sinks[sink]
	if s == nil {
		s = &captured{}
		c.sinks[sink] = s
	}
	return s
}

// tap takes rows as the sink's queue does.
func (c *captures) tap(sink string, rows *batch.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.of(sink)
	s.emitted = append(s.emitted, texts(rows)...)
}

// commit notes that everything emitted until now is committed.
func (c *captures) commit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sinks {
		s.committed = len(s.emitted)
	}
}

// crash drops what was not committed. What an expectation has seen of it is not looked at twice.
func (c *captures) crash() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sinks {
		s.emitted = s.emitted[:s.committed]
	}
}

// step notes that a step of the case begins.
func (c *captures) step() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sinks {
		s.steps = append(s.steps, len(s.emitted))
	}
}

// fresh is what has come out at a place since it was last looked at.
func (c *captures) fresh(sink string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.of(sink)
	from := min(s.looked, len(s.emitted))
	s.looked = len(s.emitted)
	return append([]string(nil), s.emitted[from:]...)
}

// all is what has come out at a place in the whole case.
func (c *captures) all(sink string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.of(sink).emitted...)
}

// check compares what sinks were given with what was emitted for them: each row once, in order. It is the engine that is checked here.
func (c *captures) check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, s := range c.sinks {
		for i, row := range s.delivered {
			if i < len(s.emitted) && row != s.emitted[i] {
				return fmt.Errorf("sink %s was given %s as row %d, and the pipeline had made %s", name, row, i+1, s.emitted[i])
			}
		}
	}
	return nil
}

// texts gives rows as text: those of a text sink as they are, others as JSON.
func texts(b *batch.Batch) []string {
	out := make([]string, 0, b.Alive())
	var f *format.Formatter
	for _, r := range rowsOf(b) {
		if len(b.Offsets) > 0 {
			out = append(out, string(b.Row(r)))
			continue
		}
		if f == nil {
			f, _ = format.New(format.Options{})
		}
		row, err := f.AppendRow(nil, b, r)
		if err != nil {
			row = []byte(err.Error())
		}
		out = append(out, string(row))
	}
	return out
}

func rowsOf(b *batch.Batch) []int {
	var out []int
	if b.Sel == nil {
		for i := range b.N {
			out = append(out, i)
		}
		return out
	}
	for _, r := range b.Sel {
		out = append(out, int(r))
	}
	return out
}

// sink is what stands in a sink's place. It numbers what it holds, so that no row comes twice.
type sink struct {
	to    *captures
	name  string
	exact bool
}

func (s *sink) LastDelivered(context.Context) (uint64, bool, error) {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	return uint64(len(s.to.of(s.name).delivered)), s.exact, nil
}

func (s *sink) Write(_ context.Context, first uint64, b *batch.Batch) error {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	if !s.exact {
		return nil
	}
	c := s.to.of(s.name)
	for i, row := range texts(b) {
		switch n := int(first) + i; {
		case n <= len(c.delivered):
			if c.delivered[n-1] != row {
				return &wire.SinkError{Message: fmt.Sprintf("row %d was %s and is now %s", n, c.delivered[n-1], row), Permanent: true}
			}
		case n == len(c.delivered)+1:
			c.delivered = append(c.delivered, row)
		default:
			return &wire.SinkError{Message: fmt.Sprintf("row %d comes after row %d", n, len(c.delivered)), Permanent: true}
		}
	}
	return nil
}

func (s *sink) Close() error { return nil }
