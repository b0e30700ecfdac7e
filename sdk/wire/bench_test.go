package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// blobs is a plugin that gives the same lines for ever and assigns nothing: all that is measured is the way.
type blobs struct {
	Plugin
	data    []byte
	offsets []uint32
}

func newBlobs(rows int) *blobs {
	p := &blobs{offsets: []uint32{0}}
	for i := range rows {
		p.data = fmt.Appendf(p.data, `{"key":"user-%08d","ts":%d,"region":"eu-west-1","type":"login","value":88.04,"seq":%d}`+"\n", i*7919%10_000, 1_700_000_000_000+i, 10_000_000+i)
		p.offsets = append(p.offsets, uint32(len(p.data)))
	}
	return p
}

func (p *blobs) Description() Description { return Description{Kind: KindSource, Name: "blobs"} }

func (p *blobs) OpenSource(SourceOpen, Runtime) (Source, error) {
	return &blobSource{p: p, closed: make(chan struct{})}, nil
}

type blobSource struct {
	Source
	p      *blobs
	closed chan struct{}
}

func (s *blobSource) Recv() (SourceEvent, error) {
	select {
	case <-s.closed:
		return SourceEvent{}, io.EOF
	default:
	}
	b := batch.Get()
	b.N, b.Trailer = len(s.p.offsets)-1, 1
	b.Data, b.Offsets = append(b.Data, s.p.data...), append(b.Offsets, s.p.offsets...)
	return SourceEvent{Kind: SourceBatch, Batch: b}, nil
}

func (s *blobSource) Stop() error { return nil }
func (s *blobSource) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

// still is an assigner that changes nothing and marks once a batch.
type still struct{ Plugin }

func (still) Description() Description { return Description{Kind: KindAssigner, Name: "still"} }

func (still) OpenAssigner(AssignerOpen, Runtime) (Assigner, error) {
	return &stillAssigner{answers: make(chan *batch.Batch, Credits)}, nil
}

type stillAssigner struct {
	Assigner
	answers chan *batch.Batch
}

func (*stillAssigner) AddPartition(uint32, string, []byte) error { return nil }
func (a *stillAssigner) Assign(b *batch.Batch) error {
	a.answers <- b
	return nil
}

func (a *stillAssigner) Recv() (AssignerEvent, error) {
	b := <-a.answers
	b.Marks = append(b.Marks[:0], batch.Mark{After: uint32(b.N), Watermark: b.Times[b.N-1]})
	return AssignerEvent{Batch: b, Unchanged: true}, nil
}
func (a *stillAssigner) Close() error { return nil }

// connect serves plugins on a unix socket.
func connect(b testing.TB, plugins ...Plugin) *Client {
	client, _ := connectServer(b, plugins...)
	return client
}

func connectServer(b testing.TB, plugins ...Plugin) (*Client, *Server) {
	path := filepath.Join(b.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(b, err)
	server := grpc.NewServer(ServerOptions()...)
	half := NewServer(plugins, hclog.NewNullLogger())
	half.Register(server)
	go func() { _ = server.Serve(listener) }()
	conn, err := grpc.NewClient("unix:"+path, append(DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(b, err)
	b.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
	})
	return NewClient(conn, nil), half
}

// BenchmarkSource is the way of 109-byte lines over a unix socket, both ends. An operation is a row.
func BenchmarkSource(b *testing.B) {
	for _, rows := range []int{1200, 4096} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) { benchSource(b, connect(b, newBlobs(rows))) })
	}
}

func benchSource(b *testing.B, client *Client) {
	s, err := client.OpenSource(context.Background(), SourceOpen{Plugin: "blobs"})
	require.NoError(b, err)
	defer s.Close()
	b.ReportAllocs()
	b.ResetTimer()
	before, n := cpuTime(b), 0
	for n < b.N {
		e, err := s.Recv()
		require.NoError(b, err)
		n += e.Batch.N
		e.Batch.Release()
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(n), "cpu-ns/row")
}

// BenchmarkSocket is the same bytes over a bare unix socket, with one copy on each side as well: what gRPC can at best come near to.
func BenchmarkSocket(b *testing.B) {
	for _, rows := range []int{1200, 4096} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			p := newBlobs(rows)
			listener, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
			require.NoError(b, err)
			defer listener.Close()
			go func() {
				c, err := listener.Accept()
				for err == nil {
					x := batch.Get()
					x.Data, x.Offsets = append(x.Data, p.data...), append(x.Offsets, p.offsets...)
					_, err = c.Write(x.Data)
					if err == nil {
						_, err = c.Write(bytesOfUint32(x.Offsets))
					}
					x.Release()
				}
			}()
			c, err := net.Dial("unix", listener.Addr().String())
			require.NoError(b, err)
			defer c.Close()
			b.ResetTimer()
			before, n := cpuTime(b), 0
			for n < b.N {
				x := batch.Get()
				x.Data, x.Offsets = grow(x.Data, len(p.data)), grow(x.Offsets, len(p.offsets))
				_, err1 := io.ReadFull(c, x.Data)
				_, err2 := io.ReadFull(c, bytesOfUint32(x.Offsets))
				require.NoError(b, errors.Join(err1, err2))
				x.Release()
				n += rows
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(n), "cpu-ns/row")
		})
	}
}

// BenchmarkAssigner is the way of timestamps to an assigner and back, both ends. An operation is a row.
func BenchmarkAssigner(b *testing.B) {
	for _, rows := range []int{1200, 4096} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			a, err := connect(b, still{}).OpenAssigner(context.Background(), AssignerOpen{Plugin: "still"}, Wanted{})
			require.NoError(b, err)
			defer a.Close()
			free := make(chan *batch.Batch, Credits)
			for range Credits {
				x := batch.Get()
				x.N = rows
				for i := range rows {
					x.Times = append(x.Times, int64(i))
				}
				free <- x
			}
			b.ReportAllocs()
			b.ResetTimer()
			before, rounds := cpuTime(b), b.N/rows+1
			go func() {
				for range rounds {
					if a.Assign(<-free) != nil {
						return
					}
				}
			}()
			for range rounds {
				e, err := a.Recv()
				require.NoError(b, err)
				free <- e.Batch
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(rounds*rows), "cpu-ns/row")
		})
	}
}
