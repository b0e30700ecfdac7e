package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// sockets sends the input over connections as fast as it is taken.
func (b *bencher) sockets(ctx context.Context, p *prepared, c Contestant, round int) (Sample, error) {
	parts, err := b.split(p)
	if err != nil {
		return Sample{}, err
	}
	var listeners []net.Listener
	var addresses []string
	defer func() {
		for _, l := range listeners {
			l.Close()
		}
	}()
	for i := range parts {
		address := "127.0.0.1:0"
		if p.Network == "unix" {
			address = filepath.Join(os.TempDir(), fmt.Sprintf("tidemark-bench-%d-%d.sock", os.Getpid(), i)) // short: the system allows 108 bytes
		}
		l, err := net.Listen(p.Network, address)
		if err != nil {
			return Sample{}, err
		}
		listeners, addresses = append(listeners, l), append(addresses, l.Addr().String())
	}
	x, err := b.newChild(p, c, round, addresses)
	if err != nil {
		return Sample{}, err
	}
	defer x.remove()
	s, err := x.finish(ctx, x.command(ctx, ""), func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		for i, l := range listeners {
			group.Go(func() error {
				return serve(ctx, l, func(conn net.Conn) error {
					f, err := os.Open(parts[i])
					if err != nil {
						return err
					}
					defer f.Close()
					_, err = io.Copy(conn, f) // the system copies it from the file itself
					return err
				})
			})
		}
		return group.Wait()
	})
	if err != nil {
		return s, err
	}
	return s, x.judge(&s)
}

// serve accepts one connection, gives it to send, and closes it.
func serve(ctx context.Context, l net.Listener, send func(net.Conn) error) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	conn, err := l.Accept()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	defer conn.Close()
	stopSending := context.AfterFunc(ctx, func() { conn.Close() })
	defer stopSending()
	if err := send(conn); err != nil && ctx.Err() == nil {
		return fmt.Errorf("send the input: %w", err)
	}
	return ctx.Err()
}

// split deals the lines out to as many files as there are connections, a thousand at a time.
func (b *bencher) split(p *prepared) ([]string, error) {
	if p.Connections <= 1 {
		return []string{p.path}, nil
	}
	var paths []string
	for i := range p.Connections {
		path := fmt.Sprintf("%s.%dof%d", p.path, i+1, p.Connections)
		paths = append(paths, path)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := writeAside(path, func(w io.Writer) error {
			in, err := os.Open(p.path)
			if err != nil {
				return err
			}
			defer in.Close()
			r, out := bufio.NewReaderSize(in, 1<<20), bufio.NewWriterSize(w, 1<<20)
			for n := 0; ; n++ {
				line, err := r.ReadSlice('\n')
				if err == io.EOF {
					return out.Flush()
				}
				if err != nil {
					return err
				}
				if n/1000%p.Connections == i {
					if _, err := out.Write(line); err != nil {
						return err
					}
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return paths, nil
}
