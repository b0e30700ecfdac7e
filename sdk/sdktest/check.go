package sdktest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// Settings help the kit to try a plugin well. All of it may be left out.
type Settings struct {
	// Options are those that the plugin is opened with: at least the required ones.
	Options Options
	// Record makes the i-th record for an assigner, a transform, an aggregate or a window function: a struct with tidemark tags, or a map of fields. By default the kit
	// makes up values of the types that the plugin asks for.
	Record func(i int) any
	// Records is how many are tried; 200.
	Records int
	// Until ends a source that does not end by itself: after 1,000 rows or two seconds.
	Until Until
	// Delivered reads back what a sink has, a string for each row as it was given; without it, only what the sink says is checked.
	Delivered func() ([]string, error)
	// NoSpeed leaves the measuring out.
	NoSpeed bool
}

// Report is what the kit has found.
type Report struct {
	Plugin   string
	Passed   []string // what was tried and is right
	Findings []Finding
	Notes    []string // what could not be tried, and why
	// NsPerRow is how long a row takes, everything together; 0 = not measured.
	NsPerRow float64
}

// Finding is something that the plugin has wrong.
type Finding struct {
	Check  string // what was tried
	Detail string // what happened
	Hint   string // what probably is the matter
}

func (f Finding) String() string {
	s := f.Check + ": " + f.Detail
	if f.Hint != "" {
		s += "\n    " + f.Hint
	}
	return s
}

// Conforms runs the kit over a plugin and fails the test for each finding.
func Conforms(t testing.TB, p wire.Plugin, s Settings) {
	t.Helper()
	r := Check(p, s)
	for _, f := range r.Findings {
		t.Errorf("%s: %s", r.Plugin, f)
	}
	for _, n := range r.Notes {
		t.Logf("%s: %s", r.Plugin, n)
	}
	if r.NsPerRow > 0 {
		t.Logf("%s: %.0f ns a record, %.1f million records/s", r.Plugin, r.NsPerRow, 1000/r.NsPerRow)
	}
}

// Check runs the kit over a plugin: one in this process (then it is tried over the wire, too), or an executable's.
func Check(p wire.Plugin, s Settings) Report {
	if s.Records == 0 {
		s.Records = 200
	}
	if s.Until.Rows == 0 {
		s.Until.Rows = 1000
	}
	if s.Until.After == 0 {
		s.Until.After = 2 * time.Second
	}
	d := p.Description()
	k := &kit{d: d, s: s, metrics: &wire.Metrics{}, report: Report{Plugin: fmt.Sprintf("%s %s", d.Kind, d.Name)}}
	if _, here := p.(sdk.Plugin); !here {
		k.run(p, "")
		return k.report
	}
	before := runtime.NumGoroutine()
	k.run(p, "in process: ")
	remote, stop, err := overPipe(p)
	if err != nil {
		k.find("over the wire", err.Error(), "")
		return k.report
	}
	k.s.NoSpeed = true
	k.run(remote, "over the wire: ")
	stop()
	k.leaks(before)
	k.try("its metrics can be shown", func() error {
		if wrong := k.metrics.Problems(); len(wrong) > 0 {
			return hinted("a label is a code, a shard, a kind of thing: never an identifier of a record or a user", "%s", strings.Join(wrong, "; "))
		}
		return nil
	})
	return k.report
}

// kit tries one plugin.
type kit struct {
	d      wire.Description
	p      wire.Plugin
	prefix string
	s      Settings
	report Report
	told   bool // see stateful

	metrics *wire.Metrics // of all instances in this process
}

// runtime surrounds an instance of the kit.
func (k *kit) runtime() wire.Runtime { return wire.Runtime{Metrics: k.metrics} }

func (k *kit) run(p wire.Plugin, prefix string) {
	k.p, k.prefix = p, prefix
	k.try("the description is complete", k.description)
	k.try("wrong options are refused", k.wrongOptions)
	switch k.d.Kind {
	case wire.KindAssigner:
		k.assigner()
	case wire.KindSource:
		k.source()
	case wire.KindSink:
		k.sink()
	case wire.KindTransform:
		k.transform()
	case wire.KindAggregate, wire.KindWindow:
		k.windows()
	}
}

// try runs one check; it may return an error with a hint made by [hinted].
func (k *kit) try(name string, check func() error) {
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return check()
	}()
	var h *hint
	switch {
	case err == nil:
		k.report.Passed = append(k.report.Passed, k.prefix+name)
	case errors.As(err, &h):
		k.find(name, h.detail, h.hint)
	default:
		k.find(name, err.Error(), "")
	}
}

type hint struct{ detail, hint string }

func (h *hint) Error() string { return h.detail }

func hinted(hintText, format string, args ...any) error {
	return &hint{fmt.Sprintf(format, args...), hintText}
}

func (k *kit) find(check, detail, hint string) {
	k.report.Findings = append(k.report.Findings, Finding{k.prefix + check, detail, hint})
}

func (k *kit) note(format string, args ...any) {
	k.report.Notes = append(k.report.Notes, k.prefix+fmt.Sprintf(format, args...))
}

func (k *kit) description() error {
	if k.d.Summary == "" {
		return errors.New("there is no summary")
	}
	for _, o := range k.d.Options {
		if o.Help == "" {
			return fmt.Errorf("the option %q has no help", o.Name)
		}
	}
	return k.p.CheckOptions(k.s.Options.json())
}

// wrongOptions gives every option a value of a type that it cannot have.
func (k *kit) wrongOptions() error {
	try := func(name string, value any) error {
		o := Options{}
		for key, v := range k.s.Options {
			o[key] = v
		}
		o[name] = value
		var wrong sdk.OptionErrors
		switch err := k.p.CheckOptions(o.json()); {
		case err == nil:
			return fmt.Errorf("%s = %v is accepted", name, value)
		case !errors.As(err, &wrong):
			return hinted("return sdk.BadOption(message, name) from Validate", "%s = %v: the error names no option: %v", name, value, err)
		}
		return nil
	}
	if err := try("no_such_option_here", 1); err != nil {
		return err
	}
	for _, o := range k.d.Options {
		if err := try(o.Name, []any{map[string]any{}}); err != nil {
			return err
		}
		if o.Required {
			rest := Options{}
			for key, v := range k.s.Options {
				if key != o.Name {
					rest[key] = v
				}
			}
			if k.p.CheckOptions(rest.json()) == nil {
				return fmt.Errorf("the required option %s may be missing", o.Name)
			}
		}
	}
	return nil
}

// leaks waits for goroutines to end that the plugin has started.
func (k *kit) leaks(before int) {
	k.prefix = ""
	k.try("nothing is left running", func() error {
		var now int
		for range 200 {
			if now = runtime.NumGoroutine(); now <= before {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
		}
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return hinted("wait in Run or Close for the goroutines that were started:\n"+newest(string(stacks)), "%d goroutines more than before", now-before)
	})
}

// newest are the stacks that were started last, which probably are the ones that leak.
func newest(stacks string) string {
	all := strings.Split(stacks, "\n\n")
	return strings.Join(all[max(0, len(all)-3):], "\n\n")
}

// overPipe serves a plugin over gRPC within the process.
func overPipe(p wire.Plugin) (remote wire.Plugin, stop func(), err error) {
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(wire.ServerOptions()...)
	wire.NewServer([]wire.Plugin{p}, hclog.NewNullLogger()).Register(server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	dial := append(wire.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	conn, err := grpc.NewClient("passthrough:///pipe", dial...)
	if err != nil {
		return nil, nil, err
	}
	stop = func() {
		_ = conn.Close()
		server.Stop()
		<-done
	}
	client := wire.NewClient(conn, nil)
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	list, err := client.List(ctx)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return client.Remote(list[0], answerTimeout), stop, nil
}
