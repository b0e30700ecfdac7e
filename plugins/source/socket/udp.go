package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/tidemark-stream/tidemark/plugins/framing"
	"github.com/tidemark-stream/tidemark/plugins/source/stream"
	"github.com/tidemark-stream/tidemark/sdk"
)

// largestDatagram is what UDP can carry.
const largestDatagram = 64 << 10

// datagrams takes datagrams until ctx is done. Each holds whole records; the last one in it needs no line end.
func (s *source) datagrams(ctx context.Context, out *sdk.SourceContext[[]byte]) error {
	var lc net.ListenConfig
	pc, err := lc.ListenPacket(ctx, "udp", s.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.Listen, reason(err))
	}
	conn := pc.(*net.UDPConn)
	defer conn.Close()
	if err := conn.SetReadBuffer(int(s.ReceiveBuffer)); err != nil {
		out.Logger().Warn("the system does not give so large a receive buffer", "receive_buffer", int64(s.ReceiveBuffer), "error", err)
	}
	s.stands(true)
	out.Logger().Info("listening", "listen", conn.LocalAddr().String())
	unhook := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer unhook()

	part := out.Partition(s.Listen)
	st, err := stream.New(part, out.Framing(), framing.Place{}, nil)
	if err != nil {
		return err
	}
	defer st.Drop()
	var first time.Time // when the oldest record that waits came
	for {
		if st.Full(largestDatagram) || st.Waiting() && time.Since(first) >= linger {
			if err := st.Flush(); err != nil {
				return err
			}
		}
		waiting := st.Waiting()
		var deadline time.Time
		if waiting {
			deadline = first.Add(linger)
		}
		if err := conn.SetReadDeadline(deadline); err != nil {
			return ended(ctx, err)
		}
		switch _, err := st.Fill(conn); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			continue
		case err != nil:
			return ended(ctx, err)
		}
		if err := st.EndDatagram(); err != nil {
			return err
		}
		if !waiting {
			first = time.Now()
		}
	}
}

// ended prefers ctx's error: a socket that was closed because of it gives others.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
