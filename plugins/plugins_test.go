package plugins

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

func TestTheListIsInOrderAndDescribesEverything(t *testing.T) {
	type place struct {
		kind int
		name string
	}
	var last place
	for _, p := range All() {
		d := p.Description()
		here := place{slices.Index(wire.Kinds(), d.Kind), d.Name}
		require.True(t, here.kind > last.kind || here.kind == last.kind && here.name > last.name, "%s %s", d.Kind, d.Name)
		last = here
		require.NotEmpty(t, d.Summary, d.Name)
		for _, o := range d.Options {
			require.NotEmpty(t, o.Help, "%s: %s", d.Name, o.Name)
		}
	}
}
