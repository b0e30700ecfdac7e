// Command plugin is the plugin of the host's tests: well behaved by default, and misbehaving in the way that MISBEHAVE says.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
)

func main() {
	switch how := os.Getenv("MISBEHAVE"); how {
	case "noise":
		fmt.Println("Loading configuration ...")
		fmt.Println("ready | steady | go")
	case "long_noise":
		fmt.Println(strings.Repeat("x", 1<<20))
	case "stderr_flood":
		for range 20_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 20))
		}
	case "odd_log": // nothing of this is what a line of a log is, but the last two
		for _, line := range []string{`{"@message":5,"@level":"info"}`, `{"@message":"m","@level":7}`, `{"@timestamp":true}`, `{"@message":null}`, `{`, `{}`, `[]`, `{"@message":"cut`,
			`{"@message":"a duty","@level":"error","pipeline":"another","component":"c","took":1234567,"@timestamp":"today","list":[1, 2]} and more`,
			`{"@message":"a duty","@level":"warn","pipeline":"another","component":"c","took":1234567,"@timestamp":"today","list":[1, 2]}`} {
			fmt.Fprintln(os.Stderr, line)
		}
	case "noise_only":
		fmt.Println("I am the very model")
		time.Sleep(time.Hour)
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot find my licence")
		os.Exit(7)
	case "exit_quietly":
		return
	case "other_version":
		fmt.Println("1|9|unix|/nowhere|grpc")
		time.Sleep(time.Hour)
	case "other_cookie":
		os.Unsetenv("TIDEMARK_PLUGIN")
		fmt.Fprintln(os.Stderr, "This binary is a plugin. These are not meant to be executed directly.")
		os.Exit(1)
	case "elsewhere": // a socket that is somebody else's
		fmt.Printf("1|1|unix|%s|grpc\n", os.Getenv("SOCKET"))
		time.Sleep(time.Hour)
	case "linked":
		link := os.Getenv("PLUGIN_UNIX_SOCKET_DIR") + "/link"
		_ = os.Symlink(os.Getenv("SOCKET"), link)
		fmt.Printf("1|1|unix|%s|grpc\n", link)
		time.Sleep(time.Hour)
	case "tcp":
		fmt.Println("1|1|tcp|127.0.0.1:22|grpc")
		time.Sleep(time.Hour)
	case "no_server":
		fmt.Println("1|1|unix|/nowhere/at/all|grpc")
		time.Sleep(time.Hour)
	case "no_memory": // as a plugin that has never heard of it
		os.Unsetenv("TIDEMARK_MEMORY_FD")
	case "scribble": // over tags, lengths, text and offsets
		scribble(0, 160<<10)
	case "scribble_text": // of the first rows
		scribble(64, 64<<10)
	case "child":
		child := exec.Command("sleep", "1000")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		note(child.Process.Pid)
	}
	note(os.Getpid())
	if majors := os.Getenv("MAJORS"); majors != "" {
		serveMajors(majors, numbers)
		return
	}
	sdk.Serve(numbers, bounded, marks, file, double, broken, blob, highest)
}

// note leaves a process number where the test finds it.
func note(pid int) {
	if path := os.Getenv("NOTE"); path != "" {
		f, _ := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		fmt.Fprintln(f, pid)
		f.Close()
	}
}

// Event is what numbers gives and bounded takes.
type Event struct {
	User string `tidemark:"user"`
	TS   int64  `tidemark:"ts"`
	N    *int64 `tidemark:"n"`
}

type numbersConfig struct {
	sdk.Env
	Count   int           `name:"count" default:"5" help:"how many events"`
	Pause   time.Duration `name:"pause" help:"between two events"`
	Forever bool          `name:"forever" help:"goes on until it is stopped"`
	Fail    string        `name:"fail" enum:"error,panic,crash,greedy,exit,hang,silence" help:"after half of the events"`
	Big     sdk.Size      `name:"big" help:"bytes of each user name"`
}

func (c numbersConfig) Validate() error {
	if c.Count < 0 {
		return sdk.BadOption("must not be negative", "count")
	}
	return nil
}

var numbers = sdk.NewSource("numbers", "gives numbered events", func(c numbersConfig) (sdk.Source[Event], error) { return &numbersSource{c}, nil })

type numbersSource struct{ c numbersConfig }

func (s *numbersSource) Run(ctx context.Context, out *sdk.SourceContext[Event]) error {
	s.c.Logger().Info("numbers begin", "at", out.Count(), "pause", s.c.Pause)
	name := "user"
	if s.c.Big > 0 {
		name = strings.Repeat("b", int(s.c.Big))
	}
	for i := out.Count(); i < int64(s.c.Count) || s.c.Forever; i++ {
		if s.c.Fail != "" && i == int64(s.c.Count)/2 {
			switch s.c.Fail {
			case "error":
				return errors.New("the well has run dry")
			case "panic":
				panic("the roof is on fire")
			case "greedy":
				var all [][]byte
				for {
					all = append(all, bytes.Repeat([]byte{1}, 16<<20))
					runtime.KeepAlive(all)
				}
			case "crash": // where the sdk does not see it
				go panic("the roof has come down")
				select {}
			case "exit":
				fmt.Fprintln(os.Stderr, "the well is poisoned")
				os.Exit(3)
			case "hang":
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			}
		}
		ts := 1000 * i
		if err := out.CollectWithTimestamp(Event{User: name, TS: ts, N: &i}, ts); err != nil {
			return err
		}
		if err := out.EmitWatermark(sdk.Watermark(ts - 1)); err != nil {
			return err
		}
		s.c.Count_(1)
		if s.c.Pause > 0 {
			select {
			case <-time.After(s.c.Pause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func (c numbersConfig) Count_(n float64) { c.Env.Count("events_total", "events given", n) }

func (s *numbersSource) Ack(partition string, position []byte) {
	s.c.Gauge("acked", "last position", mustNumber(position))
	s.c.Env.Count("acks_total", "positions that are safe", 1, "partition", partition)
}

func mustNumber(position []byte) float64 {
	n, err := strconv.Atoi(strings.TrimPrefix(string(position), "#"))
	if err != nil {
		panic(err)
	}
	return float64(n)
}

type boundedConfig struct {
	Delay time.Duration `name:"delay" default:"2s" help:"how late events come"`
	Fail  string        `name:"fail" help:"at the event n=3: panic, exit, sleep"`
}

var bounded = sdk.NewPeriodicAssigner("bounded", "the highest timestamp minus a delay",
	func(c boundedConfig) (sdk.PeriodicAssigner[Event], error) {
		if c.Fail == "factory" {
			time.Sleep(time.Hour)
		}
		return &boundedAssigner{c: c, High: -1 << 62}, nil
	})

type boundedAssigner struct {
	c    boundedConfig
	High int64
}

func (a *boundedAssigner) ExtractTimestamp(e Event, previous int64) int64 {
	if e.N != nil && *e.N == 3 {
		switch a.c.Fail {
		case "panic":
			panic("three!")
		case "exit":
			os.Exit(5)
		case "sleep":
			time.Sleep(time.Hour)
		}
	}
	a.High = max(a.High, e.TS)
	return e.TS
}

func (a *boundedAssigner) CurrentWatermark() sdk.Watermark {
	if a.High == -1<<62 {
		return sdk.NoWatermark
	}
	return sdk.Watermark(a.High - a.c.Delay.Milliseconds() - 1)
}

func (a *boundedAssigner) Snapshot() ([]byte, error)  { return json.Marshal(a.High) }
func (a *boundedAssigner) Restore(state []byte) error { return json.Unmarshal(state, &a.High) }

// marks takes time from the records whose column "is_marker" is true.
type marksConfig struct {
	Marker sdk.Expr `name:"is_marker" result:"bool" required:"true" help:"which records carry time"`
}

type MarkEvent struct {
	Is bool  `tidemark:"is_marker"`
	TS int64 `tidemark:"ts,required"`
}

var marks = sdk.NewMarkerAssigner("marks", "markers carry time", func(marksConfig) (sdk.MarkerAssigner[MarkEvent], error) { return markAssigner{}, nil })

type markAssigner struct{}

func (markAssigner) ExtractTimestamp(e MarkEvent, _ int64) int64 { return e.TS }
func (markAssigner) Marker(e MarkEvent) (sdk.Watermark, bool)    { return sdk.Watermark(e.TS), e.Is }

// file is a transactional sink: lines and the number of the last one in one file.
type fileConfig struct {
	sdk.Env
	Path   string `name:"path" required:"true" help:"where to"`
	Refuse string `name:"refuse" help:"rows that are refused"`
	Full   bool   `name:"full" help:"the disk is full"`
	Hang   bool   `name:"hang" help:"never answers"`
}

var file = sdk.NewSink("file", "appends to a file", sdk.SinkTraits{Delivery: sdk.Transactional, Text: true},
	func(_ context.Context, c fileConfig) (sdk.Sink, error) { return &fileSink{c}, nil })

type fileSink struct{ c fileConfig }

func (s *fileSink) LastDelivered(context.Context) (uint64, error) {
	text, err := os.ReadFile(s.c.Path + ".last")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(text), 10, 64)
}

func (s *fileSink) Write(ctx context.Context, r sdk.Rows) error {
	if s.c.Full {
		return sdk.RetryAfter(5*time.Second, errors.New("no space left"))
	}
	if s.c.Hang {
		time.Sleep(time.Hour)
	}
	f, err := os.OpenFile(s.c.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return sdk.Permanent(err)
	}
	defer f.Close()
	var refused sdk.RowsRefused
	for i := range r.Len() {
		if string(r.Batch.Row(i)) == s.c.Refuse {
			refused.Rows = append(refused.Rows, badRow(i))
			continue
		}
		fmt.Fprintf(f, "%d %s\n", r.First+uint64(i), r.Batch.Row(i))
	}
	if err := os.WriteFile(s.c.Path+".last", strconv.AppendUint(nil, r.First+uint64(r.Len())-1, 10), 0o600); err != nil {
		return err
	}
	if refused.Rows != nil {
		return &refused
	}
	return nil
}

func (s *fileSink) Close() error { return nil }
