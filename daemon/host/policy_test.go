package host

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

func TestPoliciesOfThePipelineLieOverTheDaemons(t *testing.T) {
	at := func(line int) problem.Place { return problem.Place{File: "f", Line: line, Column: 1} }
	daemons := []*config.PluginPolicy{
		{Kind: "source", Name: "a", SHA256: []string{"1"}, CallTimeout: time.Minute, StartTimeout: 10 * time.Second, User: "nobody", Memory: 1,
			Spots: map[string]problem.Place{"sha256": at(1), "call_timeout": at(2), "user": at(3), "limits": at(4)}},
		{Kind: "sink", Name: "a", Path: "/x"},
	}
	own := []*config.PluginPolicy{
		{Kind: "source", Name: "a", Args: []string{"-v"}, CallTimeout: 30 * time.Second, StartTimeout: time.Second,
			Spots: map[string]problem.Place{"args": at(11), "start_timeout": at(12)}},
		{Kind: "source", Name: "b"},
	}
	got := layered(own, daemons)
	require.Equal(t, []*config.PluginPolicy{
		{Kind: "source", Name: "a", SHA256: []string{"1"}, Args: []string{"-v"}, CallTimeout: time.Minute, StartTimeout: time.Second, User: "nobody", Memory: 1,
			Spots: map[string]problem.Place{"sha256": at(1), "call_timeout": at(2), "user": at(3), "limits": at(4), "args": at(11), "start_timeout": at(12)}},
		{Kind: "source", Name: "b"},
		{Kind: "sink", Name: "a", Path: "/x"},
	}, got)
	require.Nil(t, own[0].SHA256, "the pipeline's own stays as it is")
	require.Len(t, own[0].Spots, 2)
}

// A pin in the daemon's file counts for every pipeline, also for one that says something else about the plugin.
func TestAPinOfTheDaemonHoldsInEveryPipeline(t *testing.T) {
	wrong := strings.Repeat("3c", 32)
	h, _ := newHost(t, Settings{Policies: []*config.PluginPolicy{{Kind: "source", Name: "numbers", SHA256: []string{wrong}}}})
	for _, own := range [][]*config.PluginPolicy{nil, {{Kind: "source", Name: "numbers", Args: []string{"-x"}}}} {
		_, err := h.Plugins(own, "").OpenSource(context.Background(), wire.SourceOpen{Plugin: "numbers"}, OwnProcess)
		var f *Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, WrongDigest, f.Reason)
	}
	found, err := digestOf(executable())
	require.NoError(t, err)
	v := h.Plugins([]*config.PluginPolicy{{Kind: "source", Name: "numbers", SHA256: []string{found}}}, "")
	s := openNumbers(t, v, `{"count":1}`)
	require.NoError(t, s.Close())
}

func TestPathsInTheDaemonsPoliciesBeginAtItsFile(t *testing.T) {
	h, _ := newHost(t, Settings{Policies: []*config.PluginPolicy{{Kind: "sink", Name: "shop", Path: "shop/bin"}}, PoliciesBase: "/etc/tidemark"})
	_, err := h.Plugins(nil, "/home/pipelines").Describe(sdk.KindSink, "shop")
	require.ErrorContains(t, err, "there is no file /etc/tidemark/shop/bin")
}
