package plan

import (
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/transform"
	"github.com/tidemark-stream/tidemark/sdk"
)

// ingestionGrain is how often watermarks of ingestion time rise when the file does not say.
const ingestionGrain = 200 * time.Millisecond

func (b *builder) source(c *config.Source) {
	s := &Source{Name: c.Name, Rule: ProcessingTime, OnAllIdle: "advance", Journal: c.Journal, DriftGroup: c.Name}
	plugin, d, found := b.plugin(use{
		kind: sdk.KindSource, name: c.Plugin, nameAt: c.Place("plugin"), isolation: c.Isolation, isoAt: c.Place("isolation"),
		options: c.Options, optionsAt: c.At, host: []string{"plugin", "isolation", "decode", "time", "journal"},
	})
	s.Plugin = plugin
	s.Journaled = found && (d.NotReplayable || c.Journal.Set) && len(d.Output) == 0
	s.HoldsPartitions = found && d.HoldsPartitions
	s.TakesRefusals = found && d.TakesRefusals
	if !found {
		b.broken[c.Name] = true
	}
	shape := b.sourceShape(c, s, d, found)
	b.ports[c.Name] = map[Port]Shape{Main: shape, Errors: DeadLetterShape()}
	b.time(c, s, d, found, shape)
	if s.Rule == ProcessingTime {
		b.eventTime[c.Name] = timeUse{processing: []string{c.Name}}
	} else {
		b.eventTime[c.Name] = timeUse{event: []string{c.Name}}
	}
	b.plan.Sources = append(b.plan.Sources, s)
}

// sourceShape says what the records of a source look like, and fills in how they are decoded.
func (b *builder) sourceShape(c *config.Source, s *Source, d sdk.Description, found bool) Shape {
	if found && len(d.Output) > 0 {
		if c.Decode != nil {
			b.problem("TM3106", c.KeyPlace("decode"), "remove decode", "the source plugin %q gives records that have their fields already", c.Plugin)
		}
		var shape Shape
		for _, f := range d.Output {
			shape.Fields = append(shape.Fields, Field{f.Name, string(f.Type)})
		}
		return shape
	}
	dec := c.Decode
	if dec == nil {
		dec = config.DefaultDecode()
	}
	spec := dec.Spec
	s.Decode, s.Framing, s.MaxRecord = &spec, dec.Framing, dec.MaxRecord
	shape := Shape{Record: true}
	types := map[string]string{}
	for _, f := range spec.Declared {
		if f.Type == decode.TypeDynamic {
			f.Type = spec.OwnType(f.Name)
		}
		types[f.Name] = cellType(f.Type)
		shape.Declared = append(shape.Declared, Field{f.Name, cellType(f.Type)})
	}
	decoder, errs := decode.New(spec)
	if len(errs) > 0 {
		return shape // said by package config
	}
	names := decoder.Names()
	if shape.Other = cellType(spec.OwnType("")); shape.Other == "any" || names != nil {
		shape.Other = ""
	}
	if names != nil {
		shape.Strict, shape.Declared = true, nil
		for _, n := range names {
			t := types[n]
			if t == "" {
				t = cellType(spec.OwnType(n))
			}
			shape.Declared = append(shape.Declared, Field{n, t})
		}
	}
	return shape
}

func cellType(t decode.Type) string {
	if t == decode.TypeDynamic {
		return "any"
	}
	return t.String()
}

// time fills in where a source's time comes from.
func (b *builder) time(c *config.Source, s *Source, d sdk.Description, found bool, shape Shape) {
	t := c.Time
	if t == nil {
		return
	}
	at := func(key string) string { return key }
	s.TimeUnit = TimeUnit{Unit: t.Unit, Timezone: t.Timezone, Options: decode.TimeOptions{Location: t.Location, Zones: t.Zones, Year: t.Year}}
	s.Interval, s.IdleAfter, s.OnAllIdle, s.MaxAhead, s.Confirm, s.MaxDrift = t.Interval, t.IdleAfter, t.OnAllIdle, t.MaxAhead, t.Confirm, t.MaxDrift
	if t.DriftGroup != "" {
		s.DriftGroup = t.DriftGroup
		if t.MaxDrift == 0 {
			b.warn("TM3105", c.KeyPlace("time", at("drift_group")), `add max_drift = "10m"`, "drift_group does nothing without max_drift")
		}
	}
	// Settings that would be ignored under a rule are mistakes: their author expects something of them.
	ignored := func(rule string, keys ...string) {
		for _, k := range keys {
			if c.Value("time", k) != nil {
				b.problem("TM2163", c.KeyPlace("time", k), "remove it", "%q means nothing with assigner %q", k, rule)
			}
		}
		for _, k := range t.Options.Keys {
			b.problem("TM4003", t.Options.Get(k).KeyAt, didYouMean(k, timeKeyNames(), "known are"), "assigner %q has no option %q", rule, k)
		}
	}
	switch t.Assigner {
	case config.AssignerProcessing:
		s.Rule = ProcessingTime
		ignored(t.Assigner, "timestamp", "unit", "timezone", "zones", "year", "interval", "idle_after", "on_all_idle", "max_ahead", "confirm_jump", "max_drift", "drift_group", "isolation")
	case config.AssignerIngestion:
		s.Rule = IngestionTime
		if c.Value("time", "interval") == nil {
			s.Interval = ingestionGrain
		}
		ignored(t.Assigner, "timestamp", "unit", "timezone", "zones", "year", "max_ahead", "confirm_jump", "isolation")
	case config.AssignerSource:
		s.Rule = SourceTime
		ignored(t.Assigner, "timestamp", "unit", "timezone", "zones", "year", "interval", "isolation")
	default:
		s.Rule = AssignerTime
		b.assigner(c, s, t, d, found, shape)
	}
}

func timeKeyNames() []string {
	var out []string
	for _, k := range config.Keys() {
		if k.Section == config.SectionTime {
			out = append(out, k.Name)
		}
	}
	return out
}

func (b *builder) assigner(c *config.Source, s *Source, t *config.Time, source sdk.Description, sourceFound bool, shape Shape) {
	name := c.Value("time", "assigner")
	nameAt := c.Place("time")
	if name != nil {
		nameAt = name.At
	}
	if t.Timestamp != "" {
		col, _, _ := b.expr("timestamp", t.Timestamp, c.Value("time", "timestamp"), 0, shape, transform.TypeAny, "timestamp")
		col.Time = true
		s.Timestamp = &col
	}
	plugin, d, found := b.plugin(use{
		kind: sdk.KindAssigner, name: t.Assigner, nameAt: nameAt, isolation: t.Isolation, isoAt: c.Place("time", "isolation"),
		options: t.Options, optionsAt: c.KeyPlace("time"), host: timeKeyNames(), shape: shape,
	})
	s.Assigner = &Assigner{Plugin: plugin, Style: d.Style}
	if !found {
		return
	}
	b.collisions(c, s.Assigner)
	s.Assigner.Keep = boolOption(d, t.Options, "keep")
	ownTime := len(d.Fields) > 0 || d.AllFields || d.Raw
	if t.Timestamp == "" && !ownTime && sourceFound && len(source.Output) == 0 && !b.cfg.Broken {
		b.problem("TM3102", c.KeyPlace("time"), `add timestamp = "FIELD", or choose another assigner: "source" for sources that bring their own time, "ingestion" for the time of arrival`,
			"the assigner %q needs to know where a record's time is", t.Assigner)
	}
	if c.Value("time", "interval") != nil && d.Style != "" && d.Style != sdk.Periodic {
		b.problem("TM2163", c.KeyPlace("time", "interval"), "remove it; interval is for periodic assigners", "%q means nothing with the %s assigner %q", "interval", d.Style, t.Assigner)
	}
	if t.Timestamp == "" {
		for _, k := range []string{"unit", "zones", "year", "timezone"} {
			timed := false
			for _, col := range s.Assigner.Columns {
				timed = timed || col.Time
			}
			if c.Value("time", k) != nil && !timed {
				b.problem("TM2163", c.KeyPlace("time", k), "add timestamp, or remove it", "%q says how to read the timestamp, and there is no timestamp setting", k)
			}
		}
	}
}

// collisions reports options of an assigner that become a column named like a field it also reads, but hold something else.
func (b *builder) collisions(c *config.Source, a *Assigner) {
	for _, col := range a.Columns {
		if has(a.Fields, col.Name) && col.Field != col.Name {
			b.problem("TM3106", c.Place("time", col.Name), fmt.Sprintf("rename the field %s of the records", col.Name), "the assigner reads both an option and a field named %q", col.Name)
		}
	}
}

// boolOption is a boolean option's value or default.
func boolOption(d sdk.Description, t *config.Table, name string) bool {
	o, ok := d.Option(name)
	if !ok || o.Type != sdk.BoolOption {
		return false
	}
	if v := t.Get(name); v != nil {
		return v.Kind == config.KindBool && v.Bool
	}
	return o.Default == "true"
}
