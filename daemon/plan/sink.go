package plan

import (
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk"
)

func (b *builder) sink(c *config.Sink) {
	s := &Sink{Name: c.Name, Batch: c.Batch, Retry: c.Retry, MaxInFlight: c.MaxInFlight, Format: c.FormatOptions()}
	inputs, shape, complete := b.inputsOf(c.Inputs)
	s.Inputs = inputs
	plugin, d, found := b.plugin(use{
		kind: sdk.KindSink, name: c.Plugin, nameAt: c.Place("plugin"), isolation: c.Isolation, isoAt: c.Place("isolation"), isolationSet: c.Value("isolation") != nil,
		options: c.Options, optionsAt: c.At, shape: shape, host: sinkKeyNames(),
	})
	if plugin.Shipped && c.Value("isolation") == nil {
		// A shipped sink gains nothing from a process of its own, and stdout has to be the daemon's.
		plugin.Isolation = "none"
	}
	s.Plugin = plugin
	b.plan.Sinks = append(b.plan.Sinks, s)
	if found {
		s.Capability, s.Text = d.Delivery, d.Text
		b.delivery(c, s)
	}
	if !complete || !found {
		return
	}
	if !s.Text {
		for _, k := range []string{"format", "template", "time_format", "delimiter"} {
			if c.Value(k) != nil {
				b.problem("TM2163", c.KeyPlace(k), "remove it", "%q means nothing here: the sink %q takes columns", k, c.Plugin)
			}
		}
	}
	b.watermarkColumn(s)
	b.sinkFields(c, s)
	s.nameColumns()
	for i := range s.Inputs {
		s.Inputs[i].Whole = s.need(s.Inputs[i].Shape).whole
		s.Inputs[i].Computed = innerColumns(s.Inputs[i].Shape, s.byName())
	}
}

func sinkKeyNames() []string {
	var out []string
	for _, k := range config.Keys() {
		if k.Section == config.SectionSink {
			out = append(out, k.Name)
		}
	}
	return out
}

// delivery checks the promise against what the sink can do.
func (b *builder) delivery(c *config.Sink, s *Sink) {
	can := s.Capability == sdk.Transactional || s.Capability == sdk.Idempotent
	s.ExactlyOnce = can && c.Delivery != "at_least_once"
	if c.Delivery == "exactly_once" && !can {
		b.problem("TM3101", c.Place("delivery"), fmt.Sprintf("write delivery = \"at_least_once\", or take a sink that can: %s", strings.Join(b.exactSinks(), ", ")),
			"the sink %q cannot promise exactly_once: after a crash its rows may come again", c.Plugin)
	}
	if s.MaxInFlight > 1 && s.Capability != sdk.Idempotent {
		b.problem("TM3101", c.Place("max_in_flight"), "remove max_in_flight", "the sink %q is not idempotent, so deliveries must come one after the other", c.Plugin)
	}
}

// exactSinks lists the sinks that can promise exactly once.
func (b *builder) exactSinks() []string {
	var out []string
	for _, name := range b.names(sdk.KindSink) {
		if f, err := b.catalog.Describe(sdk.KindSink, name); err == nil && (f.Description.Delivery == sdk.Transactional || f.Description.Delivery == sdk.Idempotent) {
			out = append(out, name)
		}
	}
	if out == nil {
		return []string{"none is found here"}
	}
	return out
}

// sinkFields checks the fields that a sink writes, for each of its inputs.
func (b *builder) sinkFields(c *config.Sink, s *Sink) {
	for _, n := range c.Columns {
		for _, in := range s.Inputs {
			if _, ok := in.Shape.find(n.Name); !ok {
				b.problem("TM3010", n.Value.At, didYouMean(n.Name, in.Shape.names(), "there are"), "columns: %s has no field %q", in, n.Name)
			}
		}
	}
	if s.Text && s.Format.Format == format.Text {
		f, err := format.New(s.Format)
		if err != nil {
			return // said by package config
		}
		for _, name := range f.Reads() {
			for _, in := range s.Inputs {
				if _, ok := in.Shape.find(name); !ok {
					b.problem("TM3010", c.Place("template"), didYouMean(name, in.Shape.names(), "there are"), "template: %s has no field %q", in, name)
				}
			}
		}
		return
	}
	for i, in := range s.Inputs {
		open := in.Shape.Record && !in.Shape.Strict
		if open && len(c.Columns) == 0 && (!s.Text || s.Format.Format == format.CSV) {
			b.problem("TM3107", c.Inputs[i].At, `add columns = ["a", "b"]`, "%s gives whole records, whose fields are known only while running, and %s needs columns", in, sinkWhat(s))
		}
		if s.Text && s.Format.Format == format.Raw && (!in.Shape.Record || in.Shape.Split) {
			b.problem("TM3107", c.Inputs[i].At, `write format = "json"`, "%s does not give records as they came in, so there is nothing raw to write", in)
		}
	}
}

// watermarkColumn gives a sink that names the column _watermark that column, where the rows have none of their own.
func (b *builder) watermarkColumn(s *Sink) {
	if !has(s.byName(), window.WatermarkColumn) {
		return
	}
	for i, in := range s.Inputs {
		if _, own := knownField(in.Shape, window.WatermarkColumn); own || in.Port != Main || len(b.eventTime[in.From].event) == 0 {
			continue
		}
		s.Inputs[i].Watermark = true
		s.Inputs[i].Shape = in.Shape.with(Field{window.WatermarkColumn, "timestamp"})
	}
}

// nameColumns lists the columns of rows of a table (delimited, csv with declared fields, …) that go to a sink of columns, because their order is
// that of the declaration and the order of decoded columns is not.
func (s *Sink) nameColumns() {
	if len(s.Format.Fields) > 0 || s.Text && s.Format.Format != format.CSV {
		return
	}
	strict := false
	var names []string
	for _, in := range s.Inputs {
		strict = strict || in.Shape.Record && in.Shape.Strict
		for _, n := range in.Shape.names() {
			if !has(names, n) {
				names = append(names, n)
			}
		}
	}
	if strict {
		s.Format.Fields = names
	}
}

func sinkWhat(s *Sink) string {
	if s.Text {
		return s.Format.Format
	}
	return "the sink " + quote(s.Plugin.Name)
}
