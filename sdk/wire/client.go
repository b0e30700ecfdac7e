package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/status"
)

// DialOptions are what the daemon's half needs of a gRPC connection.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(NewCodec())),
		experimental.WithBufferPool(buffers),
		grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(2 * windowBytes),
		grpc.WithReadBufferSize(socketBuffer), grpc.WithWriteBufferSize(socketBuffer),
		grpc.WithDisableRetry(), // an instance lives no longer than its stream, so a stream is never tried again
	}
}

// Client is the daemon's half of the wire: plugins on the other side look like plugins in the process. Safe for use by several goroutines.
type Client struct {
	conn    grpc.ClientConnInterface
	explain func(error) error
	shared  *Shared
}

// NewClient makes a client for a connection made with [DialOptions]. explain says in better words why a call has failed, as only the one
// who watches the process knows whether it has died; nil leaves errors as they are.
func NewClient(conn grpc.ClientConnInterface, explain func(error) error) *Client {
	if explain == nil {
		explain = func(err error) error { return err }
	}
	return &Client{conn: conn, explain: explain}
}

// Share lets a stream of the client use memory that the process has inherited. It is called before anything is opened.
func (c *Client) Share(s *Shared) { c.shared = s }

// List describes the plugins of the executable.
func (c *Client) List(ctx context.Context) ([]Description, error) {
	r, err := pluginv1.NewPluginClient(c.conn).List(ctx, &pluginv1.ListRequest{})
	if err != nil {
		return nil, c.explain(err)
	}
	out := make([]Description, len(r.GetPlugins()))
	for i, p := range r.GetPlugins() {
		if err := json.Unmarshal(p.GetJson(), &out[i]); err != nil {
			return nil, fmt.Errorf("read the description of plugin %d: %w", i, err)
		}
	}
	return out, nil
}

// Check says what is wrong with options: OptionErrors, or an error of the call.
func (c *Client) Check(ctx context.Context, kind Kind, plugin string, options []byte) error {
	r, err := pluginv1.NewPluginClient(c.conn).Check(ctx, &pluginv1.CheckRequest{Kind: string(kind), Plugin: plugin, Options: options})
	if err != nil {
		return c.explain(err)
	}
	return optionErrors(r.GetErrors(), nil)
}

// InstanceMetric is a metric with the instance that keeps it.
type InstanceMetric struct {
	Metric
	Kind   Kind
	Plugin string
	Place  Place
}

// maxMetricsBytes bounds what a process may say about itself at once.
const maxMetricsBytes = 4 << 20

// Metrics reads the metrics of all instances.
func (c *Client) Metrics(ctx context.Context) ([]InstanceMetric, error) {
	r, err := pluginv1.NewPluginClient(c.conn).Metrics(ctx, &pluginv1.MetricsRequest{}, grpc.MaxCallRecvMsgSize(maxMetricsBytes))
	if err != nil {
		return nil, c.explain(err)
	}
	out := make([]InstanceMetric, len(r.GetMetrics()))
	for i, m := range r.GetMetrics() {
		var labels []Label
		for _, l := range m.GetLabels() {
			labels = append(labels, Label{l.GetName(), l.GetValue()})
		}
		out[i] = InstanceMetric{Metric: Metric{Name: m.GetName(), Labels: labels, Help: m.GetHelp(), Gauge: m.GetGauge(), Value: m.GetValue()},
			Kind: Kind(m.GetKind()), Plugin: m.GetPlugin(), Place: Place{Pipeline: m.GetPipeline(), Component: m.GetComponent()}}
	}
	return out, nil
}

// opening is the start of a stream: the context of the call bounds it, but not the stream's life.
type opening struct {
	ctx    context.Context
	cancel context.CancelFunc
	stop   func() bool
}

func openStream(ctx context.Context) opening {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return opening{ctx: life, cancel: cancel, stop: context.AfterFunc(ctx, cancel)}
}

// opened ends the opening. An error, or a context that is done, ends the stream as well.
func (o opening) opened(ctx context.Context, err error) error {
	if !o.stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		o.cancel()
		if cause := context.Cause(ctx); cause != nil {
			return fmt.Errorf("open the plugin: %w", cause)
		}
	}
	return err
}

var errUnexpected = errors.New("it answered something else than what was asked")

// ended is the error of a stream whose other side has closed it without a word, or of one that we have closed.
func (c *Client) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return io.EOF
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return c.explain(err)
}

// nonsense is the error for an answer that cannot be: the host tells whose it was.
func (c *Client) nonsense(format string, args ...any) error {
	return c.explain(status.Errorf(codes.Internal, format, args...))
}

func wireOpen(plugin string, options []byte, place Place) *pluginv1.Open {
	return &pluginv1.Open{Plugin: plugin, Options: options, Pipeline: place.Pipeline, Component: place.Component, Store: place.Store}
}
