package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// serveMajors serves a plugin as one would that was built when the protocol had these majors ("1,2"). Those that do not exist are like the
// first one, but that they add to each log which they are.
func serveMajors(majors string, plugin wire.Plugin) {
	sets := map[int]goplugin.PluginSet{}
	for _, text := range strings.Split(majors, ",") {
		var version int
		if _, err := fmt.Sscan(text, &version); err != nil {
			panic(err)
		}
		log := hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: os.Stderr, JSONFormat: true}).With("major", version)
		sets[version] = goplugin.PluginSet{wire.PluginSetName: &major{server: wire.NewServer([]wire.Plugin{plugin}, log)}}
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: sets,
		GRPCServer:       func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(append(o, wire.ServerOptions()...)...) },
		Logger:           hclog.NewNullLogger(),
	})
}

type major struct {
	goplugin.NetRPCUnsupportedPlugin
	server *wire.Server
}

func (m *major) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	m.server.Register(g)
	return nil
}

func (m *major) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this is the plugin's half")
}
