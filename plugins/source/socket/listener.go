package socket

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tidemark-stream/tidemark/plugins/source/stream"
	"github.com/tidemark-stream/tidemark/sdk"
	"golang.org/x/sync/semaphore"
)

// listen takes connections until ctx is done. Each is read by a goroutine of its own into a partition of its own.
func (s *source) listen(ctx context.Context, out *sdk.SourceContext[[]byte]) error {
	config, err := s.serverTLS()
	if err != nil {
		return err
	}
	ln, err := s.open(ctx)
	if err != nil {
		return err
	}
	log := out.Logger().With("listen", ln.Addr().String())
	log.Info("listening")
	s.stands(true)
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	unhook := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer unhook()
	defer ln.Close()

	free := semaphore.NewWeighted(int64(s.MaxConnections))
	var open atomic.Int64
	for n := 1; ; n++ {
		if err := free.Acquire(ctx, 1); err != nil {
			return context.Cause(ctx)
		}
		conn, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if temporary(err) { // too many open files: it gets better when connections end
				free.Release(1)
				log.Warn("cannot take a connection", "error", err)
				if err := sleep(ctx, 100*time.Millisecond); err != nil {
					return err
				}
				continue
			}
			return fmt.Errorf("accept on %s: %w", s.Listen, err)
		}
		name := fmt.Sprintf("%s#%d", peer(conn), n)
		out.Gauge("connections", "open connections", float64(open.Add(1)))
		wg.Go(func() {
			defer free.Release(1)
			err := s.serve(ctx, conn, config, name, out)
			out.Gauge("connections", "open connections", float64(open.Add(-1)))
			var sending *stream.SendError
			if errors.As(err, &sending) {
				cancel(err)
			}
		})
	}
}

// serve reads one connection.
func (s *source) serve(ctx context.Context, conn net.Conn, config *tls.Config, name string, out *sdk.SourceContext[[]byte]) error {
	log := out.Logger().With("peer", name)
	log.Info("connected")
	if config != nil {
		secure := tls.Server(conn, config)
		handshake, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := secure.HandshakeContext(handshake)
		cancel()
		if err != nil {
			_ = conn.Close()
			log.Warn("no TLS connection", "error", err)
			return nil
		}
		conn = secure
	}
	// A connection that never says anything must not hold back the others' time, so its partition begins with its first bytes.
	first := &firstBytes{Conn: conn}
	var err error
	if err = first.wait(ctx, s.IdleTimeout); err == nil {
		part := out.Partition(name)
		err = s.read(ctx, first, part, out.Framing())
		var sending *stream.SendError
		if ctx.Err() != nil || errors.As(err, &sending) {
			return err
		}
		if endErr := part.End(); endErr != nil {
			return &stream.SendError{Err: endErr}
		}
	}
	_ = conn.Close()
	if ctx.Err() == nil {
		log.Info("connection ended", "reason", why(err))
	}
	return nil
}

// open makes the listening socket. A Unix socket that a dead process has left behind is replaced; one that somebody listens on is not, and no
// file of another kind either.
func (s *source) open(ctx context.Context) (net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: keepAlive(s.KeepAlive)}
	ln, err := lc.Listen(ctx, s.Network, s.Listen)
	if err != nil && s.Network == "unix" && errors.Is(err, syscall.EADDRINUSE) {
		if info, statErr := os.Lstat(s.Listen); statErr == nil && info.Mode().Type() != os.ModeSocket { // connecting to it is refused as well
			return nil, fmt.Errorf("listen on %s: there is a file of that name, which is no socket", s.Listen)
		}
		if c, dialErr := net.DialTimeout("unix", s.Listen, time.Second); dialErr == nil {
			_ = c.Close()
		} else if errors.Is(dialErr, syscall.ECONNREFUSED) && os.Remove(s.Listen) == nil {
			ln, err = lc.Listen(ctx, s.Network, s.Listen)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", s.Listen, reason(err))
	}
	return ln, nil
}

// reason takes the operation and the address off a network error, which the caller's text has already.
func reason(err error) error {
	var op *net.OpError
	if !errors.As(err, &op) {
		return err
	}
	if errors.Is(op.Err, syscall.EADDRINUSE) {
		return errors.New("another program listens there already")
	}
	var sys *os.SyscallError
	if errors.As(op.Err, &sys) {
		return sys.Err
	}
	return op.Err
}

// temporary says that Accept may work again by itself.
func temporary(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}

func peer(conn net.Conn) string {
	if a := conn.RemoteAddr().String(); a != "" && a != "@" {
		return a
	}
	return conn.LocalAddr().String() // clients of Unix sockets have no name
}

// firstBytes is a connection whose first bytes have been waited for.
type firstBytes struct {
	net.Conn
	held []byte
}

// wait blocks until something has come, or the connection has ended: then it returns why.
func (c *firstBytes) wait(ctx context.Context, idle time.Duration) error {
	unhook := context.AfterFunc(ctx, func() { _ = c.Conn.Close() })
	defer unhook()
	if idle > 0 {
		if err := c.Conn.SetReadDeadline(time.Now().Add(idle)); err != nil {
			return err
		}
	}
	buf := make([]byte, 4096)
	n, err := c.Conn.Read(buf)
	if n > 0 {
		c.held = buf[:n]
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errIdle
	}
	return err
}

func (c *firstBytes) Read(p []byte) (int, error) {
	if len(c.held) > 0 {
		n := copy(p, c.held)
		c.held = c.held[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
