package socket

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/tidemark-stream/tidemark/plugins/source/stream"
	"github.com/tidemark-stream/tidemark/sdk"
)

// connect reads from a server, for ever: it is started before or after us, and may go and come back.
func (s *source) connect(ctx context.Context, out *sdk.SourceContext[[]byte]) error {
	config, err := s.clientTLS()
	if err != nil {
		return err
	}
	log := out.Logger().With("address", s.Address)
	part := out.Partition(s.Address)
	pause := newBackoff(s.MinBackoff, s.MaxBackoff)
	tries := 0
	for {
		conn, err := s.dial(ctx, config)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			// One line for the whole outage: tries are many.
			if tries++; tries == 1 {
				log.Warn("cannot connect; trying again until it works", "error", err)
			}
			if err := sleep(ctx, pause.next()); err != nil {
				return err
			}
			continue
		}
		log.Info("connected", "local", conn.LocalAddr().String(), "tries", tries+1)
		tries = 0
		out.Gauge("connections", "open connections", 1)
		s.stands(true)
		heard := &hearing{Conn: conn}
		err = s.read(ctx, heard, part, out.Framing())
		out.Gauge("connections", "open connections", 0)
		var sending *stream.SendError
		if ctx.Err() != nil || errors.As(err, &sending) {
			return err
		}
		log.Info("connection ended", "reason", why(err))
		if !s.Reconnect {
			return part.End()
		}
		s.stands(false)
		out.Env.Count("connections_lost_total", "connections that ended", 1)
		// A server that takes connections only to drop them is not tried at full speed.
		if heard.something {
			pause.reset()
		}
		if err := sleep(ctx, pause.next()); err != nil {
			return err
		}
	}
}

// hearing is a connection that knows whether something has come over it.
type hearing struct {
	net.Conn
	something bool
}

func (l *hearing) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	l.something = l.something || n > 0
	return n, err
}

func (s *source) dial(ctx context.Context, config *tls.Config) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, KeepAlive: keepAlive(s.KeepAlive)}
	conn, err := d.DialContext(ctx, s.Network, s.Address)
	if err != nil || config == nil {
		return conn, err
	}
	secure := tls.Client(conn, config)
	handshake, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := secure.HandshakeContext(handshake); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// keepAlive turns the option into what package net wants, where 0 is the default and negative is never.
func keepAlive(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// backoff gives pauses that double up to a limit; each is between half and the whole of its turn, so that many clients of one server do not
// come back at once.
type backoff struct{ least, most, turn time.Duration }

func newBackoff(least, most time.Duration) *backoff { return &backoff{least, most, least} }

func (b *backoff) next() time.Duration {
	d := b.turn
	b.turn = min(2*b.turn, b.most)
	return d/2 + rand.N(d/2+1)
}

func (b *backoff) reset() { b.turn = b.least }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
