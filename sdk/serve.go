package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"google.golang.org/grpc"
)

// Serve is the whole main function of a plugin executable:
//
//	func main() { sdk.Serve(clicks.Plugin, taxi.Plugin) }
//
// It returns when the daemon is done with the process. Started by hand it says what it is, and exits with status 1.
func Serve(plugins ...Plugin) {
	if err := serve(plugins); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(plugins []Plugin) error {
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		return errors.New(startedByHand(plugins))
	}
	if err := unique(plugins); err != nil {
		return err
	}
	watchDaemon()
	level := hclog.LevelFromString(os.Getenv(wire.LogLevelKey))
	if level == hclog.NoLevel {
		level = hclog.Info
	}
	log := hclog.New(&hclog.LoggerOptions{Level: level, Output: os.Stderr, JSONFormat: true})
	served := make([]wire.Plugin, len(plugins))
	for i, p := range plugins {
		served[i] = p
	}
	server := wire.NewServer(served, readable{log})
	server.Share(wire.InheritShared())
	out := &output{stdout: os.Stdout, stderr: os.Stderr}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: versioned(wire.Majors(), server),
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server {
			o = append(o, grpc.ChainUnaryInterceptor(out.unary), grpc.ChainStreamInterceptor(out.stream))
			return grpc.NewServer(append(o, wire.ServerOptions()...)...)
		},
		Logger: log,
	})
	return nil
}

// output gives an author's prints back to the process. go-plugin puts pipes in the place of os.Stdout and os.Stderr, right before the first call
// can come, and carries them over the connection: a process that prints why it gives up and exits would take its last words along. The
// daemon reads the real ones to their end.
type output struct {
	once           sync.Once
	stdout, stderr *os.File
}

func (o *output) restore() { o.once.Do(func() { os.Stdout, os.Stderr = o.stdout, o.stderr }) }

func (o *output) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	o.restore()
	return handle(ctx, request)
}

func (o *output) stream(server any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	o.restore()
	return handle(server, s)
}

// versioned offers a server in every major; the daemon's choice is the only one that is then served.
func versioned(majors []wire.Major, server *wire.Server) map[int]goplugin.PluginSet {
	out := map[int]goplugin.PluginSet{}
	for _, m := range majors {
		out[m.Version] = goplugin.PluginSet{wire.PluginSetName: &servedPlugins{server: server, major: m}}
	}
	return out
}

// servedPlugins fits a wire.Server into go-plugin.
type servedPlugins struct {
	goplugin.NetRPCUnsupportedPlugin
	server *wire.Server
	major  wire.Major
}

func (s *servedPlugins) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	s.major.Register(s.server, g)
	return nil
}

func (s *servedPlugins) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this is the plugin's half")
}

func unique(plugins []Plugin) error {
	seen := map[string]bool{}
	for _, p := range plugins {
		id := string(p.desc.Kind) + " " + p.desc.Name
		if seen[id] {
			return fmt.Errorf("the executable serves %s twice", id)
		}
		seen[id] = true
	}
	return nil
}

func startedByHand(plugins []Plugin) string {
	var names []string
	for _, p := range plugins {
		names = append(names, fmt.Sprintf("the %s %q", p.desc.Kind, p.desc.Name))
	}
	return fmt.Sprintf("This is a Tidemark plugin: %s.\nIt is started by tidemark and not by hand. Put the file into a plugin directory as "+
		"tidemark-<kind>-<name>, or see what it offers with `tidemark plugins describe FILE`.", strings.Join(names, ", "))
}

// watchDaemon ends the process as soon as the daemon is gone, however it went: its end of the pipe is closed then.
func watchDaemon() {
	fd, err := strconv.Atoi(os.Getenv(wire.LivenessKey))
	if err != nil {
		return
	}
	pipe := os.NewFile(uintptr(fd), "liveness")
	if pipe == nil {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, pipe)
		os.Exit(1)
	}()
}
