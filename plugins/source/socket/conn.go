package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/tidemark-stream/tidemark/plugins/framing"
	"github.com/tidemark-stream/tidemark/plugins/source/stream"
	"github.com/tidemark-stream/tidemark/sdk"
)

// linger is how long whole records wait for more before they go on, and how soon a silent connection gives its memory back.
const linger = time.Millisecond

// errIdle ends a connection on which nothing has come for too long.
var errIdle = errors.New("nothing has come for idle_timeout")

// read reads one connection to its end and closes it. It returns why it ended: io.EOF when the peer closed it, a *stream.SendError when the
// source is to stop, ctx's error, or what went wrong.
func (s *source) read(ctx context.Context, conn net.Conn, part *sdk.Partition[[]byte], f sdk.Framing) error {
	unhook := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer unhook()
	defer conn.Close()
	st, err := stream.New(part, f, framing.Place{}, nil)
	if err != nil {
		return err
	}
	defer st.Drop()
	st.Spare() // ten thousand silent connections should be cheap
	err = s.copy(conn, part, st)
	var sending *stream.SendError
	if errors.As(err, &sending) {
		return err
	}
	// A peer that closes has said all that it had to say, its last line included, unless the pipeline wants every line's end to be there.
	// What a broken connection has cut is no record. Neither must meet the next connection's bytes. When the source is to stop, nobody
	// takes them any more.
	rest := framing.RejectLast
	if s.Unfinished == "keep" && errors.Is(err, io.EOF) {
		rest = framing.KeepLast
	}
	if endErr := st.End(rest); endErr != nil {
		return endErr
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// copy moves bytes until something ends it. While the partition is held nothing is read, so the peer has to wait.
func (s *source) copy(conn net.Conn, part *sdk.Partition[[]byte], st *stream.Stream) error {
	last := time.Now() // when something came
	for {
		if part.Held() {
			if err := st.Park(); err != nil {
				return err
			}
			if err := part.WaitWhileHeld(); err != nil {
				return &stream.SendError{Err: err}
			}
			last = time.Now() // it was us who were silent
		}
		var deadline time.Time
		switch {
		case st.Holding():
			deadline = time.Now().Add(linger)
		case s.IdleTimeout > 0:
			deadline = last.Add(s.IdleTimeout)
		}
		if err := conn.SetReadDeadline(deadline); err != nil {
			return err
		}
		n, err := st.Fill(conn)
		if n > 0 && s.IdleTimeout > 0 {
			last = time.Now()
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			if st.Holding() {
				if err := st.Park(); err != nil {
					return err
				}
			} else if n == 0 && s.IdleTimeout > 0 && time.Since(last) >= s.IdleTimeout {
				return errIdle
			}
		default:
			return err
		}
	}
}

// why says in words how a connection ended.
func why(err error) string {
	if errors.Is(err, io.EOF) {
		return "closed by the other side"
	}
	return fmt.Sprint(err)
}
