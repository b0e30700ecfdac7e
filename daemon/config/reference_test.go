package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/transform"
)

// TestReferences compares the reference pages and the commented file of the daemon with the descriptions of the keys.
func TestReferences(t *testing.T) {
	for path, text := range map[string]string{
		"../../docs/reference/pipeline.md":    pipelineReference(),
		"../../docs/reference/daemon.md":      daemonReference(),
		"../../docs/reference/expressions.md": expressionReference(),
		"../../etc/tidemark.toml":             daemonExample(),
	} {
		if *rewrite {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), text, "run go test ./daemon/config -rewrite")
	}
}

// TestDaemonExampleSaysTheDefaults reads the commented file with its comments taken away, and as it is.
func TestDaemonExampleSaysTheDefaults(t *testing.T) {
	d, l := ParseDaemon("etc/tidemark.toml", []byte(daemonExample()), testEnv)
	require.Empty(t, l.All())
	var text strings.Builder
	for _, line := range strings.Split(daemonExample(), "\n") {
		if strings.HasPrefix(line, "# [plugins") {
			break
		}
		text.WriteString(strings.TrimPrefix(line, "#: ") + "\n")
	}
	e, l := ParseDaemon("etc/tidemark.toml", []byte(text.String()), testEnv)
	require.Empty(t, l.All(), text.String())
	require.Equal(t, d, e, "the values in comments are the defaults")
}

const written = "<!-- Written by `go test ./daemon/config -rewrite` from daemon/config/keys*.go. -->\n"

func pipelineReference() string {
	var b strings.Builder
	b.WriteString("# The file of a pipeline\n\n" + written + `
One file is one pipeline: a graph of named components, wired by ` + "`inputs`" + `. A source brings records in, transforms work on them, sinks carry
results out. Every component has a main output, which is called by its name alone, and named ports. ` + "`clicks.errors`" + ` gives a row for each record that could
not be decoded, has no usable timestamp, or failed: reason, message, component, source, partition, position, event_time, raw, and raw_base64 where raw is
not UTF-8. event_time is null where no time was taken from the record: a time that max_ahead or confirm_jump has refused stands in the message. ` + "`per_user.late`" + `, of a window, gives the records that came too late, as they came to the window, with _source, _partition, _position, _event_time
and _reason ("late"). What comes out of these
ports and nobody reads is kept in the store of dead letters. A sink whose template or columns name ` + "`_watermark`" + ` gets the watermark at which
each row passes.

    [sources.clicks]
    plugin  = "socket"
    address = "localhost:9999"
    decode  = { format = "delimited", fields = ["user:string", "ts:int"] }

    [sources.clicks.time]
    timestamp = "ts"
    unit      = "s"
    max_out_of_orderness = "5s"

    [transforms.per_user]
    type      = "window"
    inputs    = ["clicks"]
    key_by    = ["user"]
    window    = { type = "tumbling", size = "5s" }
    aggregate = { events = "count()" }

    [sinks.out]
    plugin = "stdout"
    inputs = ["per_user"]

**Durations** are strings with a unit: "200ms", "5s", "1h30m", "2d"; units are ns, us, ms, s, m, h, d (24 hours), w (7 days).
**Sizes** are strings with a unit: "64KiB", "1.5GB". **Fields** are named by path: user, user.name, items[0], a["name with.dot"].
**Expressions** are strings over the fields of a record: "status >= 500 && user.country == 'de'".
Strings may hold ` + "`${NAME}`" + ` or ` + "`${NAME:-default}`" + ` for environment variables; ` + "`$${`" + ` is a plain ` + "`${`" + `. A key that is not known is an error.
Mistakes are listed in [problems.md](problems.md).
`)
	reference(&b, Keys())
	aggregateReference(&b)
	return b.String()
}

func aggregateReference(b *strings.Builder) {
	b.WriteString(`
## Aggregates

Each value of ` + "`aggregate`" + ` is a call; x is a field or an expression. Null and missing values are skipped. Results are the same whatever the order of
records, batches and shards: integers are exact, and floats are summed exactly and rounded once. Functions of numbers (sum, avg, stddev, variance,
median, quantile) take true as 1 and false as 0, and skip what is no number.

NaN: sum, avg, stddev and variance are NaN once a NaN was added, or both infinities were. min skips NaN unless there is nothing else, and for max NaN is the
highest value, as in PostgreSQL. median and quantile skip it. count counts it, count_distinct takes all NaN as one value, and first, last, collect and top give
it as they find it. In JSON, NaN and the infinities are the strings "NaN", "Infinity" and "-Infinity".

| call | result |
| --- | --- |
`)
	for _, f := range aggregate.Funcs() {
		args := []string{}
		if f.Arg {
			args = append(args, "x")
		}
		if f.P {
			args = append(args, "p")
		}
		if f.K {
			args = append(args, "k")
		}
		call := "`" + f.Name + "(" + strings.Join(args, ", ") + ")`"
		if f.Optional {
			call = "`" + f.Name + "()`, " + call
		}
		help := f.Help
		if f.Limit > 0 {
			help += fmt.Sprintf("; the bound may be given as a last argument and is %d otherwise", f.Limit)
		}
		fmt.Fprintf(b, "| %s | %s |\n", call, cell(help))
	}
}

func expressionReference() string {
	var b strings.Builder
	b.WriteString("# Expressions\n\n" + written + `
An expression computes a value from the fields of one record: the condition of a filter, the argument of an aggregate, a timestamp. Where
types are declared they are checked before anything runs; otherwise value by value, and a record for which an expression cannot be
computed goes to the errors port with the reason.

**Fields** are named by path: ` + "`user`, `user.name`, `items[0]`, `a[\"name with.dot\"]`" + `. A field that is not there is null.

**Operators**: ` + "`+ - * / % **`, `== != < <= > >=`, `and or not` (also `&& || !`), `in`, `contains`, `startsWith`, `endsWith`, `matches` (RE2), `a ?? b` (b where a is null), `c ? a : b`" + `.

**Null**: what is computed with null is null, and a filter passes only what is true. ` + "`x == nil`" + ` asks whether x is null. **Integers** are exact from -2^63 to
2^64-1; a result that does not fit is a mistake of its record, never another number.

There is no function for the present time: results must not depend on when a record is processed.

## Functions

| function | result | what it gives | example |
| --- | --- | --- | --- |
`)
	for _, f := range transform.Functions() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` |\n", f.Name, f.Result, cell(f.Help), cell(f.Example))
	}
	b.WriteString("\n## Functions over the elements of a list\n\nThe second argument is computed for each element: `#` is the element, `.name` a member of it, `#index` its number.\n\n| function | result | what it gives | example |\n| --- | --- | --- | --- |\n")
	for _, f := range transform.Predicates() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` |\n", f.Name, f.Result, cell(f.Help), cell(f.Example))
	}
	return b.String()
}

func daemonReference() string {
	var b strings.Builder
	b.WriteString("# The file of the daemon\n\n" + written + `
` + "`tidemark daemon --config etc/tidemark.toml`" + ` reads it. Every key has a default, so an empty file is a valid one. Durations, sizes and environment
variables are written as in [a pipeline's file](pipeline.md).
`)
	reference(&b, DaemonKeys())
	return b.String()
}

func reference(b *strings.Builder, keys []Key) {
	last := Section("")
	for _, k := range keys {
		if k.Section != last {
			fmt.Fprintf(b, "\n## %s\n\n| key | takes | default | what it does | example |\n| --- | --- | --- | --- | --- |\n", title(k.Section))
			last = k.Section
		}
		takes := string(k.Type)
		switch {
		case k.Type == TypeEnum:
			takes = "`" + strings.Join(k.Values, "` `") + "`"
		case k.Type == TypeOther:
			takes = "see right"
		case k.Type == TypeInt && k.Max > 0:
			takes = fmt.Sprintf("integer, %d to %d", k.Min, k.Max)
		case k.Type == TypeInt && k.Min > 0:
			takes = fmt.Sprintf("integer from %d", k.Min)
		}
		value := ""
		switch {
		case k.Required:
			value = "required"
		case k.Default != "":
			value = "`" + k.written() + "`"
		}
		example := ""
		if k.Example != "" {
			example = "`" + k.Name + " = " + k.Example + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", k.Name, cell(takes), cell(value), cell(k.Doc), cell(example))
	}
}

func title(s Section) string {
	t := string(s)
	if t == string(SectionRoot) || t == string(SectionDaemon) {
		return "Top level"
	}
	table, rest, _ := strings.Cut(t, "]")
	return "`" + table + "]`" + rest
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// daemonExample is the daemon's file with every key, its meaning and its default in comments.
func daemonExample() string {
	var b strings.Builder
	b.WriteString("# The daemon's own file: tidemark daemon --config etc/tidemark.toml\n#\n# Lines that begin with #: show the defaults; take the #: away to change one.\n")
	last := SectionDaemon
	for _, k := range DaemonKeys() {
		if k.Type == TypeTable && k.Section == SectionDaemon {
			continue
		}
		if k.Section == SectionPlugin || k.Section == SectionLimits {
			continue
		}
		if k.Section != last {
			fmt.Fprintf(&b, "\n%s\n", k.Section)
			last = k.Section
		}
		b.WriteString("\n" + comment(k.Doc))
		if k.Default != "" {
			fmt.Fprintf(&b, "#: %s = %s\n", k.Name, k.written())
		} else {
			fmt.Fprintf(&b, "# %s = %s\n", k.Name, k.Example)
		}
	}
	b.WriteString("\n# How the processes of one plugin are run, for all pipelines; see docs/reference/daemon.md.\n# [plugins.assigner-mine]\n# sha256 = \"…\"\n")
	return b.String()
}

// comment breaks a text into lines of comment.
func comment(text string) string {
	var b strings.Builder
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 120 {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}
