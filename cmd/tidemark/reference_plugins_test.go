package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/plugins"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// TestPluginReference compares docs/reference/plugins.md with what the shipped plugins say of themselves.
func TestPluginReference(t *testing.T) {
	h, err := host.New(host.Settings{Shipped: plugins.All(), Log: hclog.NewNullLogger()})
	require.NoError(t, err)
	defer h.Close()
	var list, all strings.Builder
	for _, p := range plugins.All() {
		found, err := h.Plugins(nil, "").Describe(p.Description().Kind, p.Description().Name)
		require.NoError(t, err)
		d := described{found.Description, found.Origin, wire.ProtocolVersion}
		title := fmt.Sprintf("%s %s", d.Kind, d.Name)
		fmt.Fprintf(&list, "| %s | [`%s`](#%s) | %s |\n", d.Kind, d.Name, strings.ReplaceAll(title, " ", "-"), d.Summary)
		pluginSection(&all, title, d)
	}
	text := "# The plugins that come with Tidemark\n\n<!-- Written by `go test ./cmd/tidemark -run TestPluginReference -rewrite` from the plugins. -->\n\n" +
		"`tidemark plugins describe KIND NAME` says the same, of plugins of your own, too. What stands beside these options in a component's table\n" +
		"(`inputs`, `decode`, `format`, `batch`, …) is the same for all of a kind: [the file of a pipeline](pipeline.md). What each source and sink\n" +
		"promises after a crash: [delivery](../guide/delivery.md). The assigners `source`, `ingestion` and `processing` are no plugins and have no options.\n\n" +
		"| kind | name | |\n| --- | --- | --- |\n" + list.String() + all.String()
	sameReference(t, "../../docs/reference/plugins.md", text)
}

func pluginSection(b *strings.Builder, title string, d described) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n| | |\n| --- | --- |\n", title, strings.TrimSuffix(d.Summary, "."))
	for _, f := range d.facts() {
		fmt.Fprintf(b, "| %s | %s |\n", f[0], f[1])
	}
	if len(d.Options) > 0 {
		place, option, _ := strings.Cut(d.place(), "] ")
		fmt.Fprintf(b, "\nOptions, %s:\n\n| option | takes | default | what it does |\n| --- | --- | --- | --- |\n",
			strings.Replace(place, "[", "`[", 1)+"]` "+strings.Replace(option, "beside ", "beside `", 1)+"`")
		optionRows(b, "", d.Options)
	}
	if d.Doc != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(d.Doc))
	}
}

func optionRows(b *strings.Builder, prefix string, options []wire.Option) {
	for _, o := range options {
		takes, value := string(o.Type), ""
		if o.Result != "" && o.Result != wire.AnyCell {
			takes += " of " + string(o.Result)
		}
		if len(o.Enum) > 0 {
			takes = "`" + strings.Join(o.Enum, "` `") + "`"
		}
		switch {
		case o.Required:
			value = "required"
		case o.Default != "":
			value = "`" + o.Default + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", prefix+o.Name, takes, value, strings.ReplaceAll(o.Help, "|", `\|`))
		optionRows(b, prefix+o.Name+".", o.Options)
	}
}

// sameReference compares a page that is written from the program with the file, or writes it.
func sameReference(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	is, said := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(is), len(said)) {
		require.Equal(t, said[i], is[i], "line %d; run go test ./cmd/tidemark -run %s -rewrite", i+1, t.Name())
	}
	require.Len(t, said, len(is))
}
