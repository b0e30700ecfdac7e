package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Daemon is who is asked. All methods may be called at any time and wait for nothing that goes on in a pipeline, except Order.
type Daemon interface {
	// Pipelines lists those that there are, by file, and the files that were refused.
	Pipelines() ([]Pipeline, []api.Refused)
	// Starting is why the daemon itself is not ready yet, or empty.
	Starting() string
	// Order has a pipeline stopped, resumed or restarted, and returns when that is done. An *api.Error says what is wrong with the order.
	Order(ctx context.Context, name, verb string) error
}

// Pipeline is one of the daemon's.
type Pipeline struct {
	File string
	*pipeline.Pipeline
}

// Settings is what a Server is given.
type Settings struct {
	Daemon    Daemon
	Clock     clock.Clock
	Log       hclog.Logger
	Version   string
	Socket    string // path of the Unix socket; "": none
	Address   string // host:port; "": none
	Token     string // needed at Address; "": Address changes nothing
	PProf     bool
	Processes func() []host.Process                           // nil: none
	Metrics   func(ctx context.Context) []wire.InstanceMetric // of plugins; nil: none
}

// Server serves. Use Listen, then Run once.
type Server struct {
	set     Settings
	started time.Time
	rates   rates
	metrics http.Handler

	socket, tcp net.Listener
	unlock      func()
}

// Listen opens the addresses. An error says which one and why, and what to do.
func Listen(set Settings) (*Server, error) {
	s := &Server{set: set, started: set.Clock.Now(), unlock: func() {}}
	s.metrics = s.newMetrics()
	if set.Socket != "" {
		if err := s.listenSocket(); err != nil {
			return nil, err
		}
	}
	if set.Address != "" {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", set.Address)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("admin address: %w; free the port, or set [admin] address to another one", err)
		}
		s.tcp = l
	}
	return s, nil
}

// ErrServed says that another process has the socket.
var ErrServed = errors.New("another daemon serves there, or a `tidemark run` with this state directory")

// listenSocket takes the socket's lock, which the system gives back whatever becomes of the process, and then replaces the socket that a dead
// daemon may have left.
func (s *Server) listenSocket() error {
	path := s.set.Socket
	wrong := func(err error) error { return fmt.Errorf("admin socket %s: %w", path, err) }
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return wrong(err)
	}
	unlock, err := lock(path + ".lock")
	if errors.Is(err, errHeld) {
		return wrong(fmt.Errorf("%w; stop it first, or give this one a state directory (and [admin] socket) of its own", ErrServed))
	}
	if err != nil {
		return wrong(err)
	}
	s.unlock = unlock
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			s.Close()
			return wrong(errors.New("there is a file of that name, which is no socket; move it away"))
		}
		if err := os.Remove(path); err != nil {
			s.Close()
			return wrong(err)
		}
	}
	if s.socket, err = api.ListenSocket(path); err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		s.Close()
		return wrong(err)
	}
	return nil
}

// Address is where it serves over TCP, with the port that the system has chosen where 0 was asked for; "" if it does not.
func (s *Server) Address() string {
	if s.tcp == nil {
		return ""
	}
	return s.tcp.Addr().String()
}

// Close gives back the addresses of a server that is not run.
func (s *Server) Close() {
	if s.socket != nil {
		_ = s.socket.Close()
		_ = os.Remove(s.set.Socket)
	}
	if s.tcp != nil {
		_ = s.tcp.Close()
	}
	s.unlock()
}

// farewell is how long requests under way have to come to an end.
const farewell = 2 * time.Second

// Run serves until ctx is done. A listener that fails is reported in the log: the pipelines go on without it.
func (s *Server) Run(ctx context.Context) {
	defer s.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	life, end := context.WithCancel(context.Background())
	defer end()
	mux := s.routes()
	serve := func(l net.Listener, h http.Handler) {
		server := &http.Server{
			Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
			BaseContext: func(net.Listener) context.Context { return life },
			ErrorLog:    s.set.Log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		}
		wg.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				s.set.Log.Error("the admin address is not served any more", "address", l.Addr().String(), "error", err)
			}
		})
		wg.Go(func() {
			<-ctx.Done()
			end() // taps and other long answers
			wait, cancel := context.WithTimeout(context.Background(), farewell)
			defer cancel()
			if server.Shutdown(wait) != nil {
				_ = server.Close()
			}
		})
	}
	if s.socket != nil {
		serve(s.socket, mux)
	}
	if s.tcp != nil {
		serve(s.tcp, s.guard(mux))
	}
	s.sample(ctx)
}
