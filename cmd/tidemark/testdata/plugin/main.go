// Command plugin serves the plugins of the trials. They do little, and fail as they are told.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
)

func main() {
	switch os.Getenv("MISBEHAVE") {
	case "prints":
		fmt.Println("Loading 3 modules ...")
	case "prints_only":
		fmt.Println("Welcome to my program")
		time.Sleep(time.Hour)
	case "floods":
		for range 10_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 20))
		}
	case "child":
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	if path := os.Getenv("ARGUMENTS"); path != "" {
		if err := os.WriteFile(path, []byte(strings.Join(os.Args[1:], "\n")), 0o600); err != nil {
			panic(err)
		}
	}
	sdk.Serve(
		sdk.NewSource("steady", "reads events from a file of JSON lines", func(c steadyConfig) (sdk.Source[Event], error) { return steady{c}, nil }),
		sdk.NewPeriodicAssigner("bound", "the highest timestamp minus a second", func(c Crash) (sdk.PeriodicAssigner[Event], error) { return &bound{Crash: c}, nil }),
		sdk.NewTransform("pass", "gives each event as it is", func(c Crash) (sdk.Transform[Event, Event], error) { return pass{c}, nil }),
		sdk.NewSink("lines", "appends rows to a file", sdk.SinkTraits{Delivery: sdk.AtLeastOnce, Text: true},
			func(_ context.Context, c linesConfig) (sdk.Sink, error) { return lines{c}, nil }),
	)
}

// Event is one of the steady stream.
type Event struct {
	ID  int64  `tidemark:"id"`
	Key string `tidemark:"key"`
	TS  int64  `tidemark:"ts"`
	Val int64  `tidemark:"val"`
}

// Crash are the options of all of them.
type Crash struct {
	Crash string `name:"crash" help:"how to end at the event or row that is due: exit or panic"`
	Once  string `name:"once" help:"a file that remembers that it has happened; without it, it happens again and again"`
}

// due ends the process as the options say.
func (c Crash) due() {
	if c.Crash == "" {
		return
	}
	if c.Once != "" {
		if _, err := os.OpenFile(c.Once, os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return
		}
	}
	if c.Crash == "panic" {
		panic("event 50 is too much for me")
	}
	fmt.Fprintln(os.Stderr, "event 50 is too much for me")
	os.Exit(3)
}

func (c Crash) event(e Event) {
	if os.Getenv("MISBEHAVE") == "chats" {
		fmt.Println("event", e.ID, "passes")
	}
	if e.ID == 50 {
		c.due()
	}
}

type steadyConfig struct {
	Crash
	Path string `name:"path" required:"true" help:"the file"`
}

type steady struct{ c steadyConfig }

func (s steady) Run(_ context.Context, out *sdk.SourceContext[Event]) error {
	f, err := os.Open(s.c.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	for n := int64(0); scan.Scan(); n++ {
		if n < out.Count() {
			continue
		}
		var e struct {
			ID, TS, Val int64
			Key         string
		}
		if err := json.Unmarshal(scan.Bytes(), &e); err != nil {
			return err
		}
		s.c.event(Event{ID: e.ID})
		if err := out.Collect(Event{e.ID, e.Key, e.TS, e.Val}); err != nil {
			return err
		}
	}
	return scan.Err()
}

type bound struct {
	Crash
	High int64
}

func (b *bound) ExtractTimestamp(e Event, previous int64) int64 {
	b.event(e)
	b.High = max(b.High, previous)
	return previous
}

func (b *bound) CurrentWatermark() sdk.Watermark { return sdk.Watermark(b.High - 1001) }

func (b *bound) Snapshot() ([]byte, error)  { return json.Marshal(b.High) }
func (b *bound) Restore(state []byte) error { return json.Unmarshal(state, &b.High) }

type pass struct{ Crash }

func (p pass) Process(e Event, emit func(Event)) error {
	p.event(e)
	emit(e)
	return nil
}

type linesConfig struct {
	Crash
	Path string `name:"path" required:"true" help:"the file"`
}

type lines struct{ c linesConfig }

// Write appends each row by itself, and crashes at the tenth in between.
func (l lines) Write(_ context.Context, rows sdk.Rows) error {
	f, err := os.OpenFile(l.c.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range rows.Len() {
		if rows.First+uint64(i) == 10 {
			l.c.due()
		}
		if _, err := f.Write(rows.Batch.Row(i)); err != nil {
			return err
		}
		if _, err := f.WriteString("\n"); err != nil {
			return err
		}
	}
	return nil
}

func (l lines) Close() error { return nil }
