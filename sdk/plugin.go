package sdk

import (
	"fmt"
	"regexp"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Plugin is what the New… functions give and [Serve] takes: a description, and how to start an instance. It is an immutable value.
type Plugin struct {
	desc Description

	check     func(options []byte) error
	source    func(wire.SourceOpen, wire.Runtime) (wire.Source, error)
	assigner  func(wire.AssignerOpen, wire.Runtime) (wire.Assigner, error)
	sink      func(wire.SinkOpen, wire.Runtime) (wire.Sink, error)
	transform func(wire.TransformOpen, wire.Runtime) (wire.Transform, error)
	windows   func(wire.WindowsOpen, wire.Runtime) (wire.Windows, error)
}

// Plugin serves as one of the plugins behind the wire.
var _ wire.Plugin = Plugin{}

// Description is what the plugin says about itself.
func (p Plugin) Description() Description { return p.desc }

// CheckOptions decodes options (a JSON object) as an instance would and runs the config's Validate. Mistakes are [OptionErrors].
func (p Plugin) CheckOptions(options []byte) error { return p.check(options) }

// OpenSource starts an instance in this process; the host calls it, and [Serve] on the host's behalf.
func (p Plugin) OpenSource(o wire.SourceOpen, r wire.Runtime) (wire.Source, error) {
	if p.source == nil {
		return nil, p.not(KindSource)
	}
	return p.source(o, r)
}

// OpenAssigner starts an instance in this process.
func (p Plugin) OpenAssigner(o wire.AssignerOpen, r wire.Runtime) (wire.Assigner, error) {
	if p.assigner == nil {
		return nil, p.not(KindAssigner)
	}
	return p.assigner(o, r)
}

// OpenSink starts an instance in this process.
func (p Plugin) OpenSink(o wire.SinkOpen, r wire.Runtime) (wire.Sink, error) {
	if p.sink == nil {
		return nil, p.not(KindSink)
	}
	return p.sink(o, r)
}

// OpenTransform starts an instance in this process.
func (p Plugin) OpenTransform(o wire.TransformOpen, r wire.Runtime) (wire.Transform, error) {
	if p.transform == nil {
		return nil, p.not(KindTransform)
	}
	return p.transform(o, r)
}

// OpenWindows starts an instance of an aggregate or a window function in this process.
func (p Plugin) OpenWindows(o wire.WindowsOpen, r wire.Runtime) (wire.Windows, error) {
	if p.windows == nil || o.Kind != p.desc.Kind {
		return nil, p.not(o.Kind)
	}
	return p.windows(o, r)
}

func (p Plugin) not(kind Kind) error {
	return fmt.Errorf("plugin %q is a %s, not a %s", p.desc.Name, p.desc.Kind, kind)
}

// About adds to a plugin's description.
type About func(*Description)

// Version is the plugin's own version.
func Version(v string) About { return func(d *Description) { d.Version = v } }

// Doc is a longer text about the plugin, in Markdown.
func Doc(text string) About { return func(d *Description) { d.Doc = text } }

// Output names the fields of what a [Source] of Records gives; for a struct they come from its tags.
func Output(fields ...FieldSpec) About { return func(d *Description) { d.Output = fields } }

// NotReplayable says that a source cannot be asked for the same records again after a restart, so that the daemon has to keep a journal of
// what it brings. Positions mean nothing to such a source; Ack is not called.
func NotReplayable() About { return func(d *Description) { d.NotReplayable = true } }

// HoldsPartitions says that a source looks at [Partition.Held], or waits in [Partition.WaitWhileHeld], before it reads more of a partition: so
// max_drift can keep its partitions together.
func HoldsPartitions() About { return func(d *Description) { d.HoldsPartitions = true } }

// Stateful says that an assigner or a transform remembers something that a checkpoint holds: it is a [Snapshotter]. It is for people who
// read the description; what is snapshotted is decided by the methods alone.
func Stateful() About { return func(d *Description) { d.Snapshots = true } }

// InDaemon says that the plugin only makes sense inside the daemon's process. It is for shipped plugins.
func InDaemon() About { return func(d *Description) { d.InDaemon = true } }

// Stdin says that the plugin reads the daemon's standard input, which others do not get.
func Stdin() About { return func(d *Description) { d.Stdin = true } }

// Fields names what an assigner, transform, aggregate or window function of Records reads; without it, an assigner and a transform get all fields,
// see [Record].
func Fields(fields ...FieldSpec) About {
	return func(d *Description) { d.Fields, d.AllFields = fields, false }
}

var nameRule = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// describe starts a description from the config type. Mistakes in it are the author's, not the user's, and show at the first run of
// any test: they panic.
func describe[C any](kind Kind, name, summary string) Description {
	if !nameRule.MatchString(name) {
		panic(fmt.Sprintf("sdk: %s plugin %q: a name is lower-case letters and digits, words joined by \"_\"", kind, name))
	}
	options, err := optionsOf[C]()
	if err != nil {
		panic(fmt.Sprintf("sdk: %s plugin %q: %v", kind, name, err))
	}
	return Description{Kind: kind, Name: name, Summary: summary, Options: options}
}

func finish(d Description, about []About) Description {
	for _, a := range about {
		a(&d)
	}
	return d
}
