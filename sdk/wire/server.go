package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
)

const (
	// windowBytes is the static flow-control window of a stream and of a connection. Measured: the adaptive one is 10 to 25 % slower.
	windowBytes = 4 << 20
	// socketBuffer is what is read from and written to the socket at a time. Measured: from 32 to 256 KiB there is hardly a difference, and each
	// connection holds one of each.
	socketBuffer = 32 << 10
)

// ServerOptions are what the plugin's half needs of a gRPC server.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(NewCodec()),
		experimental.BufferPool(buffers),
		grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32), // one record may be large
		grpc.InitialWindowSize(windowBytes), grpc.InitialConnWindowSize(2 * windowBytes),
		grpc.ReadBufferSize(socketBuffer), grpc.WriteBufferSize(socketBuffer),
	}
}

// Server is the plugin's half of the wire: it opens plugins for the daemon and carries what they say.
type Server struct {
	pluginv1.UnimplementedPluginServer
	pluginv1.UnimplementedSourceServer
	pluginv1.UnimplementedAssignerServer
	pluginv1.UnimplementedTransformServer
	pluginv1.UnimplementedSinkServer

	plugins []Plugin
	log     hclog.Logger
	shared  *Shared

	mu      sync.Mutex
	metrics map[instance]*Metrics // of those that have ended too: counters do not fall
}

type instance struct {
	kind   Kind
	plugin string
	place  Place
}

// NewServer serves these plugins.
func NewServer(plugins []Plugin, log hclog.Logger) *Server {
	return &Server{plugins: plugins, log: log, metrics: map[instance]*Metrics{}}
}

// Share lets streams use the memory that the process has inherited. It is called before anything is served.
func (s *Server) Share(m *Shared) { s.shared = m }

// Register adds the services to a gRPC server made with [ServerOptions].
func (s *Server) Register(g grpc.ServiceRegistrar) {
	pluginv1.RegisterPluginServer(g, s)
	pluginv1.RegisterSourceServer(g, s)
	pluginv1.RegisterAssignerServer(g, s)
	pluginv1.RegisterTransformServer(g, s)
	pluginv1.RegisterSinkServer(g, s)
}

func (s *Server) find(kind Kind, name string) (Plugin, error) {
	var names []string
	for _, p := range s.plugins {
		d := p.Description()
		if d.Kind == kind && d.Name == name {
			return p, nil
		}
		names = append(names, fmt.Sprintf("%s %s", d.Kind, d.Name))
	}
	return nil, fmt.Errorf("this executable has no %s %q; it has: %s", kind, name, strings.Join(names, ", "))
}

// List implements the Plugin service.
func (s *Server) List(context.Context, *pluginv1.ListRequest) (*pluginv1.ListResponse, error) {
	out := &pluginv1.ListResponse{}
	for _, p := range s.plugins {
		text, err := json.Marshal(p.Description())
		if err != nil {
			return nil, err
		}
		out.Plugins = append(out.Plugins, &pluginv1.Description{Json: text})
	}
	return out, nil
}

// Check implements the Plugin service.
func (s *Server) Check(_ context.Context, r *pluginv1.CheckRequest) (*pluginv1.CheckResponse, error) {
	p, err := s.find(Kind(r.GetKind()), r.GetPlugin())
	if err != nil {
		return nil, err
	}
	if err := p.CheckOptions(r.GetOptions()); err != nil {
		return &pluginv1.CheckResponse{Errors: failedBy(err).Options}, nil
	}
	return &pluginv1.CheckResponse{}, nil
}

// Metrics implements the Plugin service.
func (s *Server) Metrics(context.Context, *pluginv1.MetricsRequest) (*pluginv1.MetricsResponse, error) {
	out := &pluginv1.MetricsResponse{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range s.metrics {
		for _, x := range m.Read() {
			one := &pluginv1.Metric{Name: x.Name, Help: x.Help, Gauge: x.Gauge, Value: x.Value,
				Kind: string(i.kind), Plugin: i.plugin, Pipeline: i.place.Pipeline, Component: i.place.Component}
			for _, l := range x.Labels {
				one.Labels = append(one.Labels, &pluginv1.Label{Name: l.Name, Value: l.Value})
			}
			out.Metrics = append(out.Metrics, one)
		}
	}
	return out, nil
}

// runtime makes the surroundings of an instance.
func (s *Server) runtime(kind Kind, plugin string, place Place) Runtime {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := instance{kind, plugin, place}
	log := s.log.With("pipeline", place.Pipeline, "component", place.Component)
	m := s.metrics[i]
	if m == nil {
		m = &Metrics{Log: log}
		s.metrics[i] = m
	}
	return Runtime{Logger: log, Metrics: m}
}

// failedBy is an error as it travels: mistakes in options one by one.
func failedBy(err error) *pluginv1.Failed {
	f := &pluginv1.Failed{Message: err.Error()}
	var options OptionErrors
	if errors.As(err, &options) {
		for _, o := range options {
			f.Options = append(f.Options, &pluginv1.OptionError{Path: o.Path, Reason: string(o.Reason), Message: o.Message, Hint: o.Hint})
		}
	}
	return f
}

// failure is the way back.
func failure(f *pluginv1.Failed) error {
	return optionErrors(f.GetOptions(), errors.New(f.GetMessage()))
}

func optionErrors(list []*pluginv1.OptionError, otherwise error) error {
	var out OptionErrors
	for _, o := range list {
		out = append(out, OptionError{Path: o.GetPath(), Reason: OptionReason(o.GetReason()), Message: o.GetMessage(), Hint: o.GetHint()})
	}
	if len(out) == 0 {
		return otherwise
	}
	return out
}

func placeOf(o *pluginv1.Open) Place {
	return Place{Pipeline: o.GetPipeline(), Component: o.GetComponent(), Store: o.GetStore()}
}

var errNotOpen = errors.New("the first request of a stream must be open")
