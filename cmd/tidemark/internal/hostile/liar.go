package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"fmt"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// served fits a server into go-plugin.
type served struct {
	goplugin.NetRPCUnsupportedPlugin
	server *wire.Server
}

func (s *served) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	s.server.Register(g)
	return nil
}

func (s *served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this is the plugin's half")
}

// liar is an assigner plugin that answers what the sdk would never let through: fewer timestamps than there are rows, or watermarks that
// go back.
type liar struct{ sdk.Plugin }

func (l liar) OpenAssigner(o wire.AssignerOpen, r wire.Runtime) (wire.Assigner, error) {
	a, err := l.Plugin.OpenAssigner(o, r)
	if err != nil {
		return nil, err
	}
	m := misbehaviour{At: -1}
	var options struct {
		How  string `json:"how"`
		At   int64  `json:"at"`
		Once string `json:"once"`
	}
	if err := json.Unmarshal(o.Options, &options); err != nil {
		return nil, err
	}
	m.How, m.At, m.Once = options.How, options.At, options.Once
	return &lyingAssigner{a, m}, nil
}

type lyingAssigner struct {
	wire.Assigner
	misbehaviour
}

func (l *lyingAssigner) Recv() (wire.AssignerEvent, error) {
	ev, err := l.Assigner.Recv()
	if err != nil || ev.Batch == nil || l.How != "fewer" && l.How != "back" {
		return ev, err
	}
	ids := ev.Batch.Column("id")
	for i := 0; ids != nil && i < ev.Batch.N; i++ {
		if !l.due(int64(ids.Bits[i])) {
			continue
		}
		if ev.Unchanged = false; l.How == "fewer" && ev.Batch.N == 1 {
			ev.Batch.Times = append(ev.Batch.Times, 0) // none at all would be allowed
		} else if l.How == "fewer" {
			ev.Batch.Times = ev.Batch.Times[:len(ev.Batch.Times)-1]
		} else {
			ev.Batch.Marks = append(ev.Batch.Marks, batch.Mark{After: uint32(ev.Batch.N), Watermark: 1000}, batch.Mark{After: uint32(ev.Batch.N), Watermark: 500})
		}
	}
	return ev, nil
}

// serveGarbage shakes hands, and then says nothing that anybody could understand.
func serveGarbage() {
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), fmt.Sprint("garbage-", os.Getpid()))
	l, err := net.Listen("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("1|%d|unix|%s|grpc|\n", wire.ProtocolVersion, path)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			for {
				if _, err := c.Write([]byte("\x00\xff\x13garbage, and more garbage\r\n\r\n")); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
}
