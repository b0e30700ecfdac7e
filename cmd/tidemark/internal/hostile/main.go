// Command hostile serves plugins for the tests that crash things: a source that can be paced and asked for its records again, and an
// assigner, a transform, an aggregate and a window function that misbehave at one record, each in the way that their option "how" names.
//
// What a plugin can do wrong before it is asked for anything is told by the variable MISBEHAVE.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// stderr is the real one: go-plugin puts a pipe in its place, in which the last words of a process are lost.
var stderr = os.Stderr

func main() {
	switch os.Getenv("MISBEHAVE") {
	case "":
	case "deaf": // to the polite way of being ended
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	case "exit":
		fmt.Fprintln(os.Stderr, "there is no licence for this machine")
		os.Exit(7)
	case "garbage":
		serveGarbage()
		return
	case "prints": // before it says that it is a plugin, and in the form of a log that is none
		fmt.Println("Loading 3 modules ...")
		for _, line := range []string{`{"@message":5,"@level":[]}`, `{"@message":{}}`, `{"@timestamp":0}`, `{`} {
			fmt.Fprintln(os.Stderr, line)
		}
	case "floods":
		for i := range 100_000 {
			fmt.Fprintln(os.Stderr, "line", i)
		}
	case "version": // of a protocol that is still to come
		fmt.Println("1|7|unix|/nowhere|grpc|")
		time.Sleep(time.Hour)
	default:
		fmt.Fprintln(os.Stderr, "MISBEHAVE is none of deaf, exit, floods, garbage, prints, version")
		os.Exit(2)
	}
	assigner := sdk.NewPeriodicAssigner("hostile", "the previous timestamps and a bound of 25 s, until it misbehaves",
		func(c misbehaviour) (sdk.PeriodicAssigner[Event], error) {
			return &assigner{misbehaviour: c, High: int64(sdk.NoWatermark)}, nil
		})
	transform := sdk.NewTransform("hostile", "gives each event as it is, until it misbehaves",
		func(c misbehaviour) (sdk.Transform[Event, Event], error) { return transform{c}, nil })
	source := sdk.NewSource("paced", "reads events of three partitions from a file of JSON lines, as many as a second file allows",
		func(c pacedConfig) (sdk.Source[Event], error) { return paced{c}, nil })
	serve(source, liar{assigner}, transform, liar{newAggregate()}, liar{newWindowFunction()})
}

// serve is sdk.Serve without what protects from mistakes, so that lies get onto the wire.
func serve(plugins ...wire.Plugin) {
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: os.Stderr, JSONFormat: true})
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{
			wire.ProtocolVersion: {wire.PluginSetName: &served{server: wire.NewServer(plugins, log)}},
		},
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(append(o, wire.ServerOptions()...)...) },
		Logger:     log,
	})
}

// Event is a record of the tests' stream.
type Event struct {
	ID   int64   `tidemark:"id"`
	Part int64   `tidemark:"part"`
	Key  string  `tidemark:"key"`
	TS   int64   `tidemark:"ts"`
	Val  float64 `tidemark:"val"`
}

// misbehaviour are the options of the assigner and the transform.
type misbehaviour struct {
	How  string `name:"how" help:"exit, panic, crash, hang, freeze, fewer, back, or nothing"`
	At   int64  `name:"at" default:"-1" help:"the id of the event at which it happens"`
	Once string `name:"once" help:"a file that remembers that it has happened; without it, it happens again and again"`
}

// due reports whether it is time to misbehave.
func (m misbehaviour) due(id int64) bool {
	if m.How == "" || id != m.At {
		return false
	}
	if m.Once != "" {
		if _, err := os.OpenFile(m.Once, os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return false
		}
	}
	return true
}

// event misbehaves if it is due, in a way that any plugin can.
func (m misbehaviour) event(e Event) {
	switch m.How {
	case "exit", "panic", "crash", "hang", "freeze":
	default:
		return
	}
	if !m.due(e.ID) {
		return
	}
	switch m.How {
	case "exit":
		fmt.Fprintln(stderr, "event", e.ID, "is my last")
		os.Exit(3)
	case "panic":
		panic(fmt.Sprint("event ", e.ID, " is my last"))
	case "crash":
		os.Stderr = stderr
		go panic(fmt.Sprint("event ", e.ID, " is my last"))
		select {}
	case "hang":
		time.Sleep(time.Hour)
	case "freeze": // all of it, so that not even its health can be asked for
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

type assigner struct {
	misbehaviour
	High int64
}

func (a *assigner) ExtractTimestamp(e Event, previous int64) int64 {
	a.event(e)
	a.High = max(a.High, previous)
	return previous
}

func (a *assigner) CurrentWatermark() sdk.Watermark {
	if a.High == int64(sdk.NoWatermark) {
		return sdk.NoWatermark
	}
	return sdk.Watermark(a.High - 25_001)
}

func (a *assigner) Snapshot() ([]byte, error) { return fmt.Append(nil, a.High), nil }
func (a *assigner) Restore(state []byte) error {
	_, err := fmt.Sscan(string(state), &a.High)
	return err
}

type transform struct{ misbehaviour }

func (t transform) Process(e Event, emit func(Event)) error {
	t.event(e)
	emit(e)
	return nil
}
