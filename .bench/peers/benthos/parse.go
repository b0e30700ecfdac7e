package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// event is what the job needs of a line. Batches of them travel in their messages' structured form.
type event struct {
	Key   string  `json:"key"`
	TS    int64   `json:"ts"` // ms
	Value float64 `json:"value"`
	End   bool    `json:"end"`
}

// parser turns the lines of a batch into one message that holds their events: a message for each would be made only to be taken apart again.
type parser struct {
	parse func(m *service.Message) (event, error)
}

func newParser(conf *service.ParsedConfig, _ *service.Resources) (service.BatchProcessor, error) {
	method, err := conf.FieldString("method")
	if err != nil {
		return nil, err
	}
	switch method {
	case "structured":
		return &parser{structured}, nil
	case "struct":
		return &parser{direct}, nil
	}
	return nil, fmt.Errorf("there is no method %q", method)
}

// structured is how Benthos' own processors see a message, mapping among them.
func structured(m *service.Message) (e event, err error) {
	v, err := m.AsStructured()
	if err != nil {
		return e, err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return e, fmt.Errorf("not an object: %v", v)
	}
	if end, _ := fields["end"].(bool); end {
		return event{End: true}, nil
	}
	var isKey, isTS, isValue bool
	e.Key, isKey = fields["key"].(string)
	ts, isTS := fields["ts"].(json.Number)
	value, isValue := fields["value"].(json.Number)
	if !isKey || !isTS || !isValue {
		return e, fmt.Errorf("key, ts or value is missing, or no text and two numbers: %v", fields)
	}
	if e.TS, err = ts.Int64(); err != nil {
		return e, err
	}
	e.Value, err = value.Float64()
	return e, err
}

// direct is the faster way of a processor of one's own.
func direct(m *service.Message) (e event, err error) {
	b, err := m.AsBytes()
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, err
	}
	if e.Key == "" && !e.End {
		return e, fmt.Errorf("key is missing: %s", b)
	}
	return e, nil
}

func (p *parser) ProcessBatch(_ context.Context, batch service.MessageBatch) ([]service.MessageBatch, error) {
	events := make([]event, len(batch))
	for i, m := range batch {
		var err error
		if events[i], err = p.parse(m); err != nil {
			return nil, fail(err)
		}
	}
	out := batch[0].Copy()
	out.SetStructured(events)
	return []service.MessageBatch{{out}}, nil
}

func (*parser) Close(context.Context) error { return nil }
