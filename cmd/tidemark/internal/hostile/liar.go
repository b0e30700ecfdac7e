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

// liar is a plugin that answers what the sdk would never let through: fewer timestamps than there are rows, or watermarks that go back; fewer
// results than there are windows.
type liar struct{ sdk.Plugin }

func (l liar) OpenAssigner(o wire.AssignerOpen, r wire.Runtime) (wire.Assigner, error) {
	a, err := l.Plugin.OpenAssigner(o, r)
	if err != nil {
		return nil, err
	}
	m, err := misbehaviourOf(o.Options)
	return &lyingAssigner{a, m}, err
}

func (l liar) OpenWindows(o wire.WindowsOpen, r wire.Runtime) (wire.Windows, error) {
	w, err := l.Plugin.OpenWindows(o, r)
	if err != nil {
		return nil, err
	}
	m, err := misbehaviourOf(o.Options)
	return &lyingWindows{w, m}, err
}

func misbehaviourOf(options []byte) (misbehaviour, error) {
	var o struct {
		How  string `json:"how"`
		At   int64  `json:"at"`
		Once string `json:"once"`
	}
	err := json.Unmarshal(options, &o)
	return misbehaviour{o.How, o.At, o.Once}, err
}

type lyingWindows struct {
	wire.Windows
	misbehaviour
}

func (l *lyingWindows) Recv() (wire.TransformEvent, error) {
	ev, err := l.Windows.Recv()
	if err != nil || l.How != "fewer" || !l.due(l.At) {
		return ev, err
	}
	n := ev.Out.N - 1
	for i := range ev.Out.Columns {
		c := &ev.Out.Columns[i]
		c.Kinds, c.Bits = c.Kinds[:n], c.Bits[:n]
	}
	ev.Out.N, ev.Origin = n, ev.Origin[:n]
	return ev, nil
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
