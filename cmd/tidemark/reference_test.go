package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var rewrite = flag.Bool("rewrite", false, "write the reference of the command line")

// TestCommandReference compares docs/reference/cli.md with the verbs.
func TestCommandReference(t *testing.T) {
	const path = "../../docs/reference/cli.md"
	root := (&app{stdout: io.Discard, stderr: io.Discard}).root()
	var b strings.Builder
	b.WriteString("# The command line\n\n<!-- Written by `go test ./cmd/tidemark -run TestCommandReference -rewrite` from the verbs. -->\n\n")
	b.WriteString("`tidemark VERB --help` says the same. Verbs that need no daemon ask none: they read files and state directories themselves.\n\n")
	fmt.Fprintf(&b, "## Exit codes\n\n| code | |\n| --- | --- |\n| %d | fine |\n| %d | something failed while running |\n| %d | the configuration, or the command line, is wrong |\n| %d | the environment is: a port, a directory, a permission |\n",
		exitOK, exitFailed, exitConfig, exitEnvironment)
	b.WriteString("\n## The verbs\n\n| | |\n| --- | --- |\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(&b, "| [%s](#tidemark-%s) | %s |\n", c.Name(), c.Name(), c.Short)
		}
	}
	b.WriteString("\n## Flags of every verb\n\n")
	flagTable(&b, root.PersistentFlags())
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.IsAvailableCommand() && c != root {
			describe(&b, c)
		}
		if c == root || !c.Hidden {
			for _, sub := range c.Commands() {
				walk(sub)
			}
		}
	}
	walk(root)
	sameReference(t, path, b.String())
}

func describe(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n", c.CommandPath())
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	inList := false
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		// Lists are indented in a terminal; here that has to be more, and apart.
		if list := strings.HasPrefix(line, "  "); list {
			if !inList {
				b.WriteString("\n")
			}
			line, inList = "  "+line, true
		} else {
			inList = false
		}
		b.WriteString(line + "\n")
	}
	if !c.HasSubCommands() {
		fmt.Fprintf(b, "\n    %s\n", c.UseLine())
	}
	if c.Example != "" {
		b.WriteString("\nFor example:\n\n")
		for _, line := range strings.Split(strings.TrimSpace(c.Example), "\n") {
			fmt.Fprintf(b, "    %s\n", strings.TrimSpace(line))
		}
	}
	if flags := c.NonInheritedFlags(); flags.HasAvailableFlags() {
		b.WriteString("\n")
		flagTable(b, flags)
	}
}

func flagTable(b *strings.Builder, flags *pflag.FlagSet) {
	b.WriteString("| flag | default | |\n| --- | --- | --- |\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		switch value {
		case "":
		case "stringArray":
			name += " string…" // the flag may come several times
		default:
			name += " " + value
		}
		shown := ""
		switch f.DefValue {
		case "", "false", "[]", "0", "0s":
		default:
			shown = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, shown, strings.ReplaceAll(usage, "|", `\|`))
	})
}
