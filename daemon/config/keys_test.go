package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"
)

// around says where the keys of a section stand in a file; % is the place of the key.
var around = map[Section]string{
	SectionRoot:        "%",
	SectionPipeline:    "[pipeline]\n%",
	SectionSource:      "[sources.a]\n%",
	SectionDecode:      "[sources.a.decode]\n%",
	SectionJournal:     "[sources.a.journal]\n%",
	SectionTime:        "[sources.a.time]\n%",
	SectionConfirm:     "[sources.a.time.confirm_jump]\n%",
	SectionTransform:   "[transforms.a]\n%",
	SectionWindowed:    "[transforms.a]\ntype = 'window'\n%",
	SectionWindow:      "[transforms.a]\ntype = 'window'\n[transforms.a.window]\n%",
	SectionTrigger:     "[transforms.a]\ntype = 'window'\n[transforms.a.trigger]\n%",
	SectionEarly:       "[transforms.a]\ntype = 'window'\n[transforms.a.early]\n%",
	SectionOfWindow:    "[transforms.a]\ntype = 'window'\n[transforms.a.function]\n%",
	SectionFilter:      "[transforms.a]\ntype = 'filter'\n%",
	SectionMap:         "[transforms.a]\ntype = 'map'\n%",
	SectionUnnest:      "[transforms.a]\ntype = 'unnest'\n%",
	SectionDedup:       "[transforms.a]\ntype = 'dedup'\n%",
	SectionForeign:     "[transforms.a]\ntype = 'plugin'\n%",
	SectionSink:        "[sinks.a]\n%",
	SectionSinkBatch:   "[sinks.a.batch]\n%",
	SectionSinkRetry:   "[sinks.a.retry]\n%",
	SectionCheckpoint:  "[checkpoint]\n%",
	SectionState:       "[state]\n%",
	SectionDeadLetters: "[dead_letters]\n%",
	SectionRestart:     "[restart]\n%",
	SectionPlugin:      "[plugins.source-a]\n%",
	SectionLimits:      "[plugins.source-a.limits]\n%",
	SectionDaemon:      "%",
	SectionAdmin:       "[admin]\n%",
	SectionLog:         "[log]\n%",
}

// TestEveryKeyIsRead gives each described key a date, which none of them takes. A key that nobody reads would not be noticed.
func TestEveryKeyIsRead(t *testing.T) {
	check := func(keys []Key, parse func(text string) []string) {
		for _, k := range keys {
			text := strings.Replace(around[k.Section], "%", k.Name+" = 1979-05-27\n", 1)
			require.Contains(t, strings.Join(parse(text), "\n"), k.Name+" is a date or time", "%s of %s is described, and nobody reads it:\n%s", k.Name, k.Section, text)
		}
	}
	check(Keys(), func(text string) []string { return parseErrors(text, false) })
	check(DaemonKeys(), func(text string) []string { return parseErrors(text, true) })
}

func parseErrors(text string, daemon bool) []string {
	var out []string
	if daemon {
		_, l := ParseDaemon("f.toml", []byte(text), testEnv)
		for _, p := range l.All() {
			out = append(out, p.Error())
		}
		return out
	}
	_, l := Parse("f.toml", []byte(text), testEnv)
	for _, p := range l.All() {
		out = append(out, p.Error())
	}
	return out
}

// TestExamplesAndDefaults checks that what the reference shows is what the key takes.
func TestExamplesAndDefaults(t *testing.T) {
	for _, k := range append(Keys(), DaemonKeys()...) {
		name := fmt.Sprintf("%s of %s", k.Name, k.Section)
		require.NotEmpty(t, k.Doc, name)
		require.NotEmpty(t, around[k.Section], name)
		if k.Type != TypeTable {
			require.NotEmpty(t, k.Example, name)
		}
		for _, value := range []string{k.Example, k.written()} {
			if value == "" {
				continue
			}
			var m map[string]any
			_, err := toml.Decode(k.Name+" = "+value, &m)
			require.NoError(t, err, name)
			switch v := m[k.Name]; k.Type {
			case TypeInt:
				require.IsType(t, int64(0), v, name)
				require.GreaterOrEqual(t, v.(int64), min(k.Min, v.(int64)), name)
			case TypeBool:
				require.IsType(t, true, v, name)
			case TypeDuration:
				d, err := ParseDuration(v.(string))
				require.NoError(t, err, name)
				require.GreaterOrEqual(t, int64(d), k.Min, name)
			case TypeSize:
				n, err := ParseSize(v.(string))
				require.NoError(t, err, name)
				require.GreaterOrEqual(t, n, k.Min, name)
			case TypeEnum:
				require.Contains(t, k.Values, v, name)
			case TypeTable:
				require.IsType(t, map[string]any{}, v, name)
			}
		}
	}
	seen := map[string]bool{}
	for _, k := range append(Keys(), DaemonKeys()[:len(daemonKeys)]...) {
		id := string(k.Section) + k.Name
		if k.Section != SectionPlugin && k.Section != SectionLimits {
			require.False(t, seen[id], "%s is described twice", id)
		}
		seen[id] = true
	}
}

// written is a default as it would stand in a file.
func (k Key) written() string {
	switch {
	case k.Default == "":
		return ""
	case k.Type == TypeInt || k.Type == TypeBool:
		return k.Default
	}
	return fmt.Sprintf("%q", k.Default)
}

func FuzzParse(f *testing.F) {
	for _, text := range around {
		f.Add(strings.Replace(text, "%", "x = 1\n", 1), false)
	}
	for _, k := range Keys() {
		if k.Example != "" {
			f.Add(strings.Replace(around[k.Section], "%", k.Name+" = "+k.Example+"\n", 1), false)
		}
	}
	for _, k := range DaemonKeys() {
		if k.Example != "" {
			f.Add(strings.Replace(around[k.Section], "%", k.Name+" = "+k.Example+"\n", 1), true)
		}
	}
	for _, part := range []string{"[", "{a=", "a.", "[[", "'", "a = [\n"} {
		f.Add(strings.Repeat(part, 5000), false)
		f.Add("a = "+strings.Repeat(part, 5000), true)
	}
	f.Fuzz(func(t *testing.T, text string, daemon bool) {
		var l = func() (out []placed) {
			if daemon {
				_, l := ParseDaemon("f.toml", []byte(text), testEnv)
				for _, p := range l.All() {
					out = append(out, placed{p.Line, p.Column, p.Error()})
				}
				return out
			}
			_, l := Parse("f.toml", []byte(text), testEnv)
			for _, p := range l.All() {
				out = append(out, placed{p.Line, p.Column, p.Error()})
			}
			return out
		}()
		lines := strings.Count(text, "\n") + 1
		for _, p := range l {
			if p.line == 0 {
				continue
			}
			require.LessOrEqual(t, p.line, lines, p.text)
			require.Positive(t, p.column, p.text)
			line := strings.TrimSuffix(strings.Split(text, "\n")[p.line-1], "\r")
			require.LessOrEqual(t, p.column, len([]rune(line))+1, p.text)
		}
	})
}

type placed struct {
	line, column int
	text         string
}
