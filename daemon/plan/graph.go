package plan

import (
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/config"
)

// graph checks how components are wired and puts the transforms into an order in which inputs come first. Transforms that lie on a cycle
// are reported once, and come last in the order of the file, so that the rest of them is checked too.
func (b *builder) graph() {
	c := b.cfg
	if !c.Broken {
		at := config.Component{}.At
		at.File = c.File
		if len(c.Sources) == 0 && len(c.Transforms)+len(c.Sinks) > 0 {
			b.problem("TM3001", at, "add [sources.NAME]; `tidemark plugins ls` lists the plugins", "the pipeline has no source")
		}
		if len(c.Sinks) == 0 && len(c.Transforms)+len(c.Sources) > 0 {
			b.problem("TM3002", at, `add a sink, for instance [sinks.out] with plugin = "stdout"`, "the pipeline has no sink, so nobody would see its results")
		}
	}
	for _, t := range c.Transforms {
		b.inputs(t.Inputs)
	}
	for _, s := range c.Sinks {
		b.inputs(s.Inputs)
	}
	b.numbers()
	b.sort()
	b.unread()
}

// numbers refuses two transforms with one number in the state.
func (b *builder) numbers() {
	names := map[uint32]string{}
	for _, t := range b.cfg.Transforms {
		id := OperatorID(t.Name)
		if other, taken := names[id]; taken && other != t.Name {
			b.problem("TM3008", t.At, "give one of the two another name", "the transforms %q and %q have the same number in the state", other, t.Name)
			continue
		}
		names[id] = t.Name
	}
}

// inputs checks that each input is there and has the port.
func (b *builder) inputs(refs []config.Ref) {
	for _, r := range refs {
		ports, sink := b.portsOf(r.Component)
		switch {
		case sink:
			b.problem("TM3006", r.At, "name the component that the sink reads from", "%q is a sink, which nothing can read from", r.Component)
		case ports == nil:
			b.problem("TM3003", r.At, didYouMean(r.Component, b.readable(), "there are"), "there is no source or transform %q", r.Component)
		case r.Port != "" && !has(ports, r.Port):
			hint := fmt.Sprintf("%s has the port%s %s, beside the main one, which is %q alone", r.Component, plural(ports), strings.Join(ports, " and "), r.Component)
			if s := config.Suggest(r.Port, ports); s != "" {
				hint = fmt.Sprintf("did you mean %q?", r.Component+"."+s)
			}
			b.problem("TM3004", r.At, hint, "%q has no port %q", r.Component, r.Port)
		}
	}
}

func plural(list []string) string {
	if len(list) == 1 {
		return ""
	}
	return "s"
}

// portsOf lists the ports of a component beside the main one; nil when there is no such component or it is a sink.
func (b *builder) portsOf(name string) (ports []string, sink bool) {
	for _, s := range b.cfg.Sources {
		if s.Name == name {
			return []string{string(Errors)}, false
		}
	}
	for _, t := range b.cfg.Transforms {
		if t.Name == name {
			if t.Type == config.TransformWindow {
				return []string{string(Errors), string(Late)}, false
			}
			return []string{string(Errors)}, false
		}
	}
	for _, s := range b.cfg.Sinks {
		if s.Name == name {
			return nil, true
		}
	}
	return nil, false
}

func (b *builder) readable() []string {
	var out []string
	for _, s := range b.cfg.Sources {
		out = append(out, s.Name)
	}
	for _, t := range b.cfg.Transforms {
		out = append(out, t.Name)
	}
	return out
}

// sort is a depth-first search; what it meets while it is still open closes a cycle.
func (b *builder) sort() {
	byName := map[string]*config.Transform{}
	for _, t := range b.cfg.Transforms {
		if byName[t.Name] == nil {
			byName[t.Name] = t
		}
	}
	const open, done = 1, 2
	state := map[*config.Transform]int{}
	var path []*config.Transform
	var visit func(t *config.Transform)
	visit = func(t *config.Transform) {
		state[t] = open
		path = append(path, t)
		for _, r := range t.Inputs {
			in := byName[r.Component]
			if in == nil {
				continue
			}
			switch state[in] {
			case 0:
				visit(in)
			case open:
				b.cycle(path, in, r)
			}
		}
		path = path[:len(path)-1]
		state[t] = done
		b.order = append(b.order, t)
	}
	for _, t := range b.cfg.Transforms {
		if state[t] == 0 {
			visit(t)
		}
	}
}

func (b *builder) cycle(path []*config.Transform, first *config.Transform, closing config.Ref) {
	var names []string
	for i, t := range path {
		if t == first {
			for _, t := range path[i:] {
				names = append(names, t.Name)
				b.broken[t.Name] = true
			}
		}
	}
	// Inputs point against the flow, so the flow reads backwards.
	for i, j := 0, len(names)-1; i < j; i, j = i+1, j-1 {
		names[i], names[j] = names[j], names[i]
	}
	names = append(names, names[0])
	if len(names) == 2 {
		b.problem("TM3005", closing.At, "name the component before it", "%q reads from itself", first.Name)
		return
	}
	b.problem("TM3005", closing.At, "take one of these inputs away", "the inputs form a cycle: %s", strings.Join(names, " → "))
}

// unread warns about components whose main output nobody reads.
func (b *builder) unread() {
	read := map[string]bool{}
	note := func(refs []config.Ref) {
		for _, r := range refs {
			read[r.Component] = read[r.Component] || r.Port == ""
			if ports, sink := b.portsOf(r.Component); ports == nil && !sink {
				// The misspelt name has been told; that nobody reads the one that was meant would be the same mistake once more.
				read[config.Suggest(r.Component, b.readable())] = true
			}
		}
	}
	for _, t := range b.cfg.Transforms {
		note(t.Inputs)
	}
	for _, s := range b.cfg.Sinks {
		note(s.Inputs)
	}
	if len(b.cfg.Sinks) == 0 {
		return // said already
	}
	for _, s := range b.cfg.Sources {
		if !read[s.Name] {
			b.warn("TM3007", s.At, "name it in the inputs of a transform or sink, or remove it", "nobody reads the source %q", s.Name)
		}
	}
	for _, t := range b.cfg.Transforms {
		if !read[t.Name] {
			b.warn("TM3007", t.At, "name it in the inputs of a transform or sink, or remove it", "nobody reads the transform %q", t.Name)
		}
	}
}

// inputsOf gives the built inputs of a component, leaving out those that were reported.
func (b *builder) inputsOf(refs []config.Ref) (inputs []Input, shape Shape, complete bool) {
	complete = true
	for i, r := range refs {
		ports, known := b.ports[r.Component]
		s, ok := ports[Port(r.Port)]
		if !known || !ok {
			complete = false
			continue
		}
		if b.broken[r.Component] {
			complete = false
		}
		from := r.Component
		if last := b.last[from]; last != "" && Port(r.Port) == Main {
			from = last
		}
		inputs = append(inputs, Input{From: from, Port: Port(r.Port), Shape: s})
		if i == 0 || len(inputs) == 1 {
			shape = s
		} else {
			shape = shape.merge(s)
		}
	}
	if len(inputs) == 0 {
		complete = false
	}
	return inputs, shape, complete
}

// timeOf joins what time the rows of several components have.
func (b *builder) timeOf(refs []config.Ref) timeUse {
	var u timeUse
	for _, r := range refs {
		t := b.eventTime[r.Component]
		for _, s := range t.event {
			if !has(u.event, s) {
				u.event = append(u.event, s)
			}
		}
		for _, s := range t.processing {
			if !has(u.processing, s) {
				u.processing = append(u.processing, s)
			}
		}
	}
	return u
}
