package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Options are a component's options, as they stand in its table of a pipeline file.
type Options map[string]any

func (o Options) json() []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("sdktest: options: %v", err))
	}
	return text
}

// Assigner drives an assigner plugin with one partition.
type Assigner struct {
	t        testing.TB
	plugin   sdk.Plugin
	open     wire.AssignerOpen
	instance wire.Assigner
	high     int64
}

// NewAssigner starts the plugin, asked for its watermark after every record. It ends with the test.
func NewAssigner(t testing.TB, p sdk.Plugin, o Options) *Assigner {
	t.Helper()
	return newAssigner(t, p, o, true)
}

// NewTickedAssigner starts the plugin, asked for its watermark by [Assigner.Tick] only, as with an interval.
func NewTickedAssigner(t testing.TB, p sdk.Plugin, o Options) *Assigner {
	t.Helper()
	return newAssigner(t, p, o, false)
}

func newAssigner(t testing.TB, p sdk.Plugin, o Options, every bool) *Assigner {
	t.Helper()
	a := &Assigner{t: t, plugin: p, open: wire.AssignerOpen{Plugin: p.Description().Name, Options: o.json(), EveryRecord: every}, high: batch.NoWatermark}
	a.start(nil)
	t.Cleanup(func() { _ = a.instance.Close() })
	return a
}

func (a *Assigner) start(state []byte) {
	a.t.Helper()
	instance, err := a.plugin.OpenAssigner(a.open, wire.Runtime{})
	if err == nil {
		a.instance = instance
		err = instance.AddPartition(0, "test", state)
	}
	if err != nil {
		a.t.Fatalf("start the assigner: %v", err)
	}
}

// Record gives a record: a struct with tidemark tags, or a map of fields. It has no previous timestamp.
func (a *Assigner) Record(fields any) *Outcome {
	a.t.Helper()
	return a.RecordAt(sdk.NoTimestamp, fields)
}

// RecordAt gives a record that has a timestamp already.
func (a *Assigner) RecordAt(previous int64, fields any) *Outcome {
	a.t.Helper()
	b := batch.Get()
	defer b.Release()
	b.N, b.Times = 1, append(b.Times, previous)
	m, err := fieldsOf(fields)
	if err != nil {
		a.t.Fatalf("record: %v", err)
	}
	addRow(b, m)
	if err := a.instance.Assign(b); err != nil {
		a.t.Fatalf("assign: %v", err)
	}
	e, err := a.instance.Recv()
	if err != nil {
		a.t.Fatalf("assign: %v", err)
	}
	o := &Outcome{t: a.t, timestamp: b.Times[0], marker: len(e.Markers) > 0}
	for _, m := range b.Marks {
		a.high = max(a.high, m.Watermark)
	}
	o.watermark = a.high
	if len(b.Bad) > 0 {
		o.refused = b.Bad[0].Code + ": " + b.Bad[0].Message
	}
	return o
}

// Tick asks for the watermark, as an interval does.
func (a *Assigner) Tick() *Outcome {
	a.t.Helper()
	if err := a.instance.Tick([]uint32{0}); err != nil {
		a.t.Fatalf("tick: %v", err)
	}
	e, err := a.instance.Recv()
	if err != nil {
		a.t.Fatalf("tick: %v", err)
	}
	a.high = max(a.high, e.Watermarks[0].Watermark)
	return &Outcome{t: a.t, timestamp: batch.NoTimestamp, watermark: a.high}
}

// Restart takes a snapshot and goes on with a new instance that is restored from it, as after a crash.
func (a *Assigner) Restart() {
	a.t.Helper()
	if err := a.instance.Barrier(1); err != nil {
		a.t.Fatalf("snapshot: %v", err)
	}
	e, err := a.instance.Recv()
	if err != nil {
		a.t.Fatalf("snapshot: %v", err)
	}
	_ = a.instance.Close()
	var state []byte
	for _, s := range e.States {
		state = s.State
	}
	a.start(state)
}

// Outcome is what became of one record. Its methods compare and fail the test; they return the outcome, so that they chain.
type Outcome struct {
	t         testing.TB
	timestamp int64
	watermark int64
	marker    bool
	refused   string
}

// Timestamp expects the record's event time.
func (o *Outcome) Timestamp(want int64) *Outcome {
	o.t.Helper()
	if o.refused != "" {
		o.t.Errorf("the record is refused (%s), want the timestamp %d", o.refused, want)
	} else if o.timestamp != want {
		o.t.Errorf("timestamp is %s, want %s", timeText(o.timestamp), timeText(want))
	}
	return o
}

// Watermark expects the partition's highest watermark after the record.
func (o *Outcome) Watermark(want sdk.Watermark) *Outcome {
	o.t.Helper()
	if o.watermark != int64(want) {
		o.t.Errorf("watermark is %s, want %s", timeText(o.watermark), timeText(int64(want)))
	}
	return o
}

// NoWatermark expects that there has been none yet.
func (o *Outcome) NoWatermark() *Outcome {
	o.t.Helper()
	return o.Watermark(sdk.NoWatermark)
}

// Marker expects that the record carries time instead of data, or that it does not.
func (o *Outcome) Marker(want bool) *Outcome {
	o.t.Helper()
	if o.marker != want {
		o.t.Errorf("marker is %t, want %t", o.marker, want)
	}
	return o
}

// Refused expects that the record goes to the errors port, with these words in the reason.
func (o *Outcome) Refused(words string) *Outcome {
	o.t.Helper()
	reason := o.refused
	if reason == "" && !o.marker && o.timestamp == batch.NoTimestamp {
		reason = "no_timestamp"
	}
	if reason == "" || !strings.Contains(reason, words) {
		o.t.Errorf("refused is %q, want it to have %q", reason, words)
	}
	return o
}

func timeText(ms int64) string {
	switch ms {
	case batch.NoTimestamp:
		return "none"
	case batch.EndOfInput:
		return "the end of input"
	}
	return fmt.Sprintf("%d (%s)", ms, time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"))
}

// fieldsOf turns a struct with tidemark tags, or a map, into fields.
func fieldsOf(event any) (map[string]any, error) {
	if m, ok := event.(map[string]any); ok {
		return m, nil
	}
	v := reflect.Indirect(reflect.ValueOf(event))
	if v.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%T is neither a struct with tidemark tags nor a map[string]any", event)
	}
	out := map[string]any{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("tidemark"), ",")
		if name == "" {
			continue
		}
		f := v.Field(i)
		for f.Kind() == reflect.Pointer && !f.IsNil() {
			f = f.Elem()
		}
		if f.Kind() != reflect.Pointer {
			out[name] = f.Interface()
		}
	}
	return out, nil
}

// addRow writes the fields as the only row of b.
func addRow(b *batch.Batch, fields map[string]any) {
	for _, name := range sortedNames(fields) {
		setCell(b, b.AddColumn(name), 0, fields[name])
	}
}

// run gives an open plugin rows in batches of that size and collects all answers.
func run(a wire.Assigner, rows []map[string]any, previous []int64, size int) (out answers, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = a.Close() })()
	for from := 0; from < len(rows); from += size {
		to := min(from+size, len(rows))
		b := batchOf(rows[from:to], previous[from:to])
		if err := a.Assign(b); err != nil {
			return out, err
		}
		e, err := a.Recv()
		if err != nil {
			return out, err
		}
		out.add(e, from)
		b.Release()
	}
	return out, nil
}

const answerTimeout = 30 * time.Second
