package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestWhatIsReadIsThere makes chains of steps at random and follows the columns of a batch through them, as the pipeline would: whatever a step or
// a sink reads must have been decoded by the source or made by a step before.
func TestWhatIsReadIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := randomChain(t)
		p, problems := buildQuiet(text)
		if strings.Contains(problems, "TM") {
			// Fields that are dropped and read again, names that are taken: rightly refused, and not what this is about.
			t.Skip(problems)
		}
		columns := map[string]bool{}
		for _, f := range p.Source("in").Fields {
			columns[f] = true
		}
		for _, s := range p.Steps {
			follow(t, text, s, columns)
		}
		sink := p.Sinks[0]
		compute(t, text, sink.Inputs[0], columns)
		for _, name := range sink.byName() {
			require.True(t, columns[name], "the sink has no column %s\n%s\n%s", name, text, p)
		}
	})
}

func randomChain(t *rapid.T) string {
	field := func(what string) string {
		return rapid.SampledFrom([]string{"a", "b", "c", "a.x", "b.y.z", "d"}).Draw(t, what)
	}
	name := func(what string) string { return rapid.SampledFrom([]string{"a", "b", "c", "e", "f"}).Draw(t, what) }
	var b strings.Builder
	b.WriteString("[sources.in]\nplugin = 'socket'\n")
	if rapid.Bool().Draw(t, "table") {
		b.WriteString("decode = { format = 'delimited', fields = ['a:json', 'b:json', 'c', 'd', 't'] }\n")
	}
	b.WriteString("time = { timestamp = 't', unit = 's' }\n")
	last := "in"
	for i := range rapid.IntRange(0, 5).Draw(t, "steps") {
		step := fmt.Sprintf("s%d", i)
		fmt.Fprintf(&b, "[transforms.%s]\ninputs = '%s'\n", step, last)
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			fmt.Fprintf(&b, "type = 'filter'\nwhere = '%s == %s'\n", field("left"), field("right"))
		case 1:
			fmt.Fprintf(&b, "type = 'map'\nset = { %s = '%s ?? 1' }\n", name("set"), field("of"))
		case 2:
			fmt.Fprintf(&b, "type = 'map'\nrename = { %s = '%s' }\n", name("from"), name("to"))
		case 3:
			fmt.Fprintf(&b, "type = 'map'\ndrop = ['%s']\n", name("drop"))
		case 4:
			fmt.Fprintf(&b, "type = 'unnest'\nfield = '%s'\nas = '%s'\n", field("list"), name("as"))
		case 5:
			fmt.Fprintf(&b, "type = 'dedup'\nkey_by = ['%s']\nwithin = '1s'\n", field("key"))
		}
		last = step
	}
	if rapid.Bool().Draw(t, "window") {
		fmt.Fprintf(&b, "[transforms.w]\ntype = 'window'\ninputs = '%s'\nkey_by = ['%s']\nwindow = { type = 'tumbling', size = '1s' }\naggregate = { n = 'sum(%s)', m = 'max(%s + 1)' }\n",
			last, field("key_by"), field("argument"), field("computed"))
		last = "w"
		fmt.Fprintf(&b, "[sinks.out]\nplugin = 'stdout'\ninputs = '%s'\n", last)
	} else {
		fmt.Fprintf(&b, "[sinks.out]\nplugin = 'stdout'\ninputs = '%s'\ncolumns = ['%s']\n", last, field("column"))
	}
	return b.String()
}

// follow applies a step to the columns of a batch.
func follow(t *rapid.T, text string, s *Step, columns map[string]bool) {
	compute(t, text, s.Inputs[0], columns)
	reads := func(cols ...Column) {
		for _, c := range cols {
			for _, r := range c.Reads {
				require.True(t, columns[r] || columns[rootOf(r)], "step %s computes %s, and there is no column %s\n%s", s.Name, c.Expr, r, text)
			}
		}
	}
	for _, name := range s.byName() {
		require.True(t, columns[name], "step %s has no column %s\n%s", s.Name, name, text)
	}
	switch {
	case s.Filter != nil:
		reads(*s.Filter)
	case s.Map != nil:
		reads(s.Map.Set...)
		for _, c := range s.Map.Set {
			columns[c.Name] = true
		}
		for _, r := range s.Map.Rename {
			if columns[r.From] {
				delete(columns, r.From)
				columns[r.To] = true
			}
		}
		for _, d := range s.Map.Drop {
			delete(columns, d)
		}
	case s.Unnest != nil:
		require.True(t, columns[s.Unnest.Field] || columns[rootOf(s.Unnest.Field)], "step %s has no column %s\n%s", s.Name, s.Unnest.Field, text)
		delete(columns, s.Unnest.Field)
		columns[s.Unnest.As] = true
	case s.Window != nil:
		reads(s.Window.Computed...)
		clear(columns)
		for _, c := range s.Window.Columns {
			columns[c] = true
		}
	}
}

// compute adds the columns that an input has computed.
func compute(t *rapid.T, text string, in Input, columns map[string]bool) {
	for _, c := range in.Computed {
		for _, r := range c.Reads {
			require.True(t, columns[r] || columns[rootOf(r)], "%s is computed, and there is no column %s\n%s", c.Name, r, text)
		}
		columns[c.Name] = true
	}
}
