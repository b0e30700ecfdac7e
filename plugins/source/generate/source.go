package generate

import (
	"bytes"
	"context"
	"fmt"
	"text/template"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Shapes of the records.
const (
	PageViews = "page_views" // {"ts":…,"page":"/cart","user":"u042","dwell_ms":8804}
	Events    = "events"     // {"key":"user-00005191","ts":…,"region":"eu-west-1","type":"login","value":88.04,"seq":10000000}
	Pairs     = "pairs"      // user-00005191 1699999999894
	Template  = "template"   // what the template says
)

// Config is what stands in the component's table.
type Config struct {
	sdk.Env
	Records    string        `name:"records" default:"page_views" enum:"page_views,events,pairs,template" help:"what the records look like"`
	Template   string        `name:"template" help:"for records = \"template\": a Go template with the fields Number, Time (ms), Key, Cents, RegionName, TypeName"`
	Count      int           `name:"count" default:"0" help:"how many records, all partitions together; 0 = without end"`
	Rate       float64       `name:"rate" default:"0" help:"records in a second of real time, all partitions together; 0 = as fast as they are taken"`
	EventRate  float64       `name:"event_rate" default:"1000" help:"records in a second of event time, in each partition"`
	Start      string        `name:"start" default:"2026-01-01T00:00:00Z" help:"event time of the first record, RFC 3339, or \"now\""`
	Disorder   time.Duration `name:"disorder" default:"2s" help:"how much older than its place in the stream a record may be"`
	Keys       int           `name:"keys" default:"100" help:"how many different keys"`
	Skew       float64       `name:"skew" default:"0" help:"0 = all keys are equally frequent; above 1 = Zipf distributed with this exponent"`
	Seed       int           `name:"seed" default:"1" help:"other seeds give other records"`
	Partitions int           `name:"partitions" default:"1" help:"partitions p makes its records from seed + p"`
}

// Validate is called when the pipeline file is read.
func (c *Config) Validate() error {
	switch {
	case c.Records == Template && c.Template == "":
		return sdk.BadOption("records = \"template\" needs a template", "template")
	case c.Records != Template && c.Template != "":
		return sdk.BadOption(fmt.Sprintf("records = %q has no template", c.Records), "template")
	case c.Count < 0:
		return sdk.BadOption(fmt.Sprintf("%d is negative", c.Count), "count")
	case !(c.Rate >= 0):
		return sdk.BadOption(fmt.Sprintf("%v is negative", c.Rate), "rate")
	case !(c.EventRate > 0):
		return sdk.BadOption(fmt.Sprintf("%v is not above 0", c.EventRate), "event_rate")
	case c.Disorder < 0:
		return sdk.BadOption(fmt.Sprintf("%s is negative", c.Disorder), "disorder")
	case c.Keys < 1:
		return sdk.BadOption(fmt.Sprintf("%d is not at least 1", c.Keys), "keys")
	case c.Skew != 0 && !(c.Skew > 1):
		return sdk.BadOption(fmt.Sprintf("%v is not possible: 0 is uniform, above 1 is the exponent of a Zipf distribution", c.Skew), "skew")
	case c.Partitions < 1 || c.Partitions > 1000:
		return sdk.BadOption(fmt.Sprintf("%d is not between 1 and 1000", c.Partitions), "partitions")
	}
	if _, err := c.start(); err != nil {
		return sdk.BadOption(fmt.Sprintf("%q is neither \"now\" nor a time such as \"2026-01-01T00:00:00Z\"", c.Start), "start")
	}
	if _, err := c.writer(); err != nil {
		return sdk.BadOption(err.Error(), "template")
	}
	return nil
}

func (c *Config) start() (int64, error) {
	if c.Start == "now" {
		return time.Now().UnixMilli(), nil
	}
	t, err := time.Parse(time.RFC3339, c.Start)
	return t.UnixMilli(), err
}

// writer is what appends an event as a line.
func (c *Config) writer() (func(dst []byte, e Event) ([]byte, error), error) {
	plain := func(write func([]byte, Event) []byte) func([]byte, Event) ([]byte, error) {
		return func(dst []byte, e Event) ([]byte, error) { return write(dst, e), nil }
	}
	switch c.Records {
	case Events:
		return plain(AppendJSON), nil
	case Pairs:
		return plain(AppendPair), nil
	case Template:
		t, err := template.New("template").Parse(c.Template)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		return func(dst []byte, e Event) ([]byte, error) {
			out.Reset()
			if err := t.Execute(&out, e); err != nil {
				return dst, err
			}
			return append(append(dst, out.Bytes()...), '\n'), nil
		}, nil
	}
	return plain(AppendPageView), nil
}

// Plugin is the source.
func Plugin() sdk.Plugin {
	return sdk.NewSource("generate", "makes records: deterministic, out of order, as many as wanted",
		func(c Config) (sdk.Source[[]byte], error) { return &source{c}, nil }, sdk.HoldsPartitions())
}

type source struct{ config Config }

const (
	batchRows = 1024
	// tick is how often a paced source looks at what is due.
	tick = 5 * time.Millisecond
)

// stream is one partition on its way.
type stream struct {
	part  *sdk.Partition[[]byte]
	gen   *Generator
	total int64 // how many records it makes; -1 = without end
}

func (s *stream) done() bool { return s.total >= 0 && s.gen.Count() >= s.total }

// Run makes the records, always those of the partition that has the fewest: so the order of the batches depends on the options
// alone, also after a restart, unless max_drift holds some of them.
func (s *source) Run(ctx context.Context, out *sdk.SourceContext[[]byte]) error {
	streams, err := s.streams(out)
	if err != nil {
		return err
	}
	write, err := s.config.writer()
	if err != nil {
		return err
	}
	pace := newPacer(s.config.Rate, time.Now())
	for {
		change := out.HoldsChange()
		var next *stream
		held := false
		for _, p := range streams {
			switch {
			case p.done():
			case p.part.Held():
				held = true
			case next == nil || p.gen.Count() < next.gen.Count():
				next = p
			}
		}
		switch {
		case next == nil && !held:
			return nil
		case next == nil:
			select {
			case <-change:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		n, err := pace.wait(ctx, batchRows)
		if err != nil {
			return err
		}
		if next.total >= 0 {
			n = int(min(int64(n), next.total-next.gen.Count()))
		}
		if err := next.send(n, write); err != nil {
			return err
		}
		if next.done() {
			if err := next.part.End(); err != nil {
				return err
			}
		}
	}
}

// streams makes the partitions, each where the last run left it.
func (s *source) streams(out *sdk.SourceContext[[]byte]) ([]*stream, error) {
	c := &s.config
	start, err := c.start()
	if err != nil {
		return nil, err
	}
	var streams []*stream
	for p := range c.Partitions {
		gen, err := NewGenerator(Workload{
			Seed: uint64(c.Seed + p), Keys: c.Keys, Rate: c.EventRate, Disorder: c.Disorder.Milliseconds(), Start: start, Skew: c.Skew,
		})
		if err != nil {
			return nil, err
		}
		part := out.Partition(partitionName(p, c.Partitions))
		if position := part.Position(); position != nil {
			if err := gen.Resume(position); err != nil {
				return nil, err
			}
		}
		total := int64(-1)
		if c.Count > 0 {
			total = int64(c.Count / c.Partitions)
			if p < c.Count%c.Partitions {
				total++
			}
		}
		next := &stream{part: part, gen: gen, total: total}
		streams = append(streams, next)
		if next.done() {
			if err := part.End(); err != nil {
				return nil, err
			}
		}
	}
	return streams, nil
}

func partitionName(p, n int) string {
	if n == 1 {
		return "default"
	}
	return fmt.Sprintf("%03d", p)
}

// send makes a batch of n records.
func (s *stream) send(n int, write func([]byte, Event) ([]byte, error)) (err error) {
	b := sdk.NewBatch()
	b.Trailer, b.Base = 1, s.gen.Count()
	b.Offsets = append(b.Offsets, 0)
	for range n {
		if b.Data, err = write(b.Data, s.gen.Next()); err != nil {
			b.Release()
			return err
		}
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	}
	b.N = n
	b.Position = s.gen.AppendPosition(b.Position)
	return s.part.Send(b)
}
