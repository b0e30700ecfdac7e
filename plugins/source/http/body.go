package http

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/tidemark-stream/tidemark/plugins/framing"
	"github.com/tidemark-stream/tidemark/plugins/source/stream"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// The codes of rejects are those of decoding.
const (
	notJSON = "malformed"
	empty   = "empty"
)

// refusal is one record that was not taken, as the answer tells it.
type refusal struct {
	Index   int    `json:"index"` // the record's number in the request, from 0
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// errTooLarge says that a body is larger than max_body.
var errTooLarge = errors.New("the body is larger than max_body")

// readBody reads a whole body and unpacks it.
func (c *Config) readBody(r *http.Request) ([]byte, error) {
	in := io.Reader(r.Body)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("the body is no gzip: %w", err)
		}
		in = z
	case "zstd":
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(c.MaxBody)+1<<20))
		if err != nil {
			return nil, fmt.Errorf("the body is no zstd: %w", err)
		}
		defer z.Close()
		in = z
	default:
		return nil, fmt.Errorf("Content-Encoding %q is not known; use gzip or zstd", encoding)
	}
	body, err := io.ReadAll(io.LimitReader(in, int64(c.MaxBody)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the body: %w", err)
	case int64(len(body)) > int64(c.MaxBody):
		return nil, errTooLarge
	}
	return body, nil
}

// cutBody makes batches of a body's records. Refused ones are in the batches' Rejects too, so that they reach the errors port.
func (c *Config) cutBody(r *http.Request, body []byte, f sdk.Framing) (batches []*batch.Batch, accepted int, refused []refusal, err error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "application/json" || c.wantsJSON(f) && !slices.Contains(lineTypes, kind) && arrayOfObjects(body) {
		b, refused := cutJSON(body, int(f.MaxRecord))
		return []*batch.Batch{b}, b.N, refused, nil
	}
	split, err := framing.New(stream.Options(f), framing.Place{})
	if err != nil {
		return nil, 0, nil, err
	}
	index := 0
	for done := false; !done; {
		b := batch.Get()
		split.Begin(b)
		n := copy(split.Room(b, len(body)), body)
		body = nil
		done = !split.Cut(b, n) && split.End(b, framing.KeepLast)
		split.Finish(b)
		if c.wantsJSON(f) {
			onlyJSON(b)
		}
		refused = append(refused, refusals(b, index)...)
		index += b.N + len(b.Rejects)
		accepted += b.N
		batches = append(batches, b)
	}
	return batches, accepted, refused, nil
}

// lineTypes are the types of bodies that are lines, whatever stands in them.
var lineTypes = []string{"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines"}

// wantsJSON says whether records are JSON.
func (c *Config) wantsJSON(f sdk.Framing) bool {
	return c.Check == "json" || c.Check == "auto" && f.Records == "json"
}

// arrayOfObjects says whether a body begins like an array of records. Many clients send one without the type that says so.
func arrayOfObjects(body []byte) bool {
	const space = " \t\r\n"
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(body, space), []byte("["))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, space), []byte("{"))
}

// cutJSON takes top-level values, and the elements of arrays among them, as records.
func cutJSON(body []byte, maxRecord int) (*batch.Batch, []refusal) {
	b := batch.Get()
	b.Trailer = 1
	b.Offsets = append(b.Offsets, 0)
	d := json.NewDecoder(bytes.NewReader(body))
	add := func(value json.RawMessage) {
		if maxRecord > 0 && len(value) > maxRecord {
			reject(b, framing.TooLong, fmt.Sprintf("the record has %d bytes, max_record allows %d", len(value), maxRecord), value, framing.KeptPrefix)
			return
		}
		b.Data = append(append(b.Data, value...), '\n')
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
		b.N++
	}
	for {
		var value json.RawMessage
		if err := d.Decode(&value); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			// What stands behind cannot be told apart any more. Elements of a broken array are looked for all the same.
			rest := bytes.TrimLeft(body[d.InputOffset():], " \t\r\n")
			if rest, err = elements(rest, add, err); err == io.EOF {
				err = io.ErrUnexpectedEOF // within the array
			}
			reject(b, notJSON, "not JSON from here on: "+err.Error(), rest, max(maxRecord, framing.KeptPrefix))
			break
		}
		if len(value) > 0 && value[0] == '[' {
			_, _ = elements(value, add, nil) // whole, as Decode has found
			continue
		}
		add(value)
	}
	return b, refusals(b, 0)
}

// elements calls add for each element of an array. For a broken one it returns what stands behind the last whole element, and why.
func elements(array []byte, add func(json.RawMessage), cause error) (rest []byte, err error) {
	d := json.NewDecoder(bytes.NewReader(array))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return array, cause
	}
	for d.More() {
		at := d.InputOffset()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return bytes.TrimLeft(array[at:], " \t\r\n,"), err
		}
		add(value)
	}
	return array[d.InputOffset():], cause
}

// reject keeps at most so many bytes of the record.
func reject(b *batch.Batch, code, message string, data []byte, keep int) {
	b.Rejects = append(b.Rejects, batch.Reject{
		After: uint32(b.N), Code: code, Message: message, Data: bytes.Clone(data[:min(len(data), keep)]), Length: int64(len(data)),
	})
}

// onlyJSON turns the rows that are no JSON into rejects.
func onlyJSON(b *batch.Batch) {
	bad := 0
	for i := range b.N {
		if !json.Valid(b.Row(i)) {
			bad++
		}
	}
	if bad == 0 {
		return
	}
	data := append([]byte(nil), b.Data...)
	offsets := append([]uint32(nil), b.Offsets...)
	before, n := b.Rejects, b.N
	b.Data, b.Offsets, b.N, b.Rejects = b.Data[:0], append(b.Offsets[:0], 0), 0, nil
	for i := range n + 1 {
		for len(before) > 0 && int(before[0].After) == i {
			before[0].After = uint32(b.N)
			b.Rejects = append(b.Rejects, before[0])
			before = before[1:]
		}
		if i == n {
			break
		}
		row := data[offsets[i] : offsets[i+1]-uint32(b.Trailer)]
		switch {
		case len(bytes.TrimSpace(row)) == 0:
			reject(b, empty, "the row is empty", row, len(row))
			continue
		case !json.Valid(row):
			reject(b, notJSON, "not JSON", row, len(row)) // whole, as decoding would have kept it
			continue
		}
		b.Data = append(b.Data, data[offsets[i]:offsets[i+1]]...)
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
		b.N++
	}
}

// refusals are the rejects of a batch whose first record is number index.
func refusals(b *batch.Batch, index int) (out []refusal) {
	for k, j := range b.Rejects {
		out = append(out, refusal{Index: index + int(j.After) + k, Reason: j.Code, Message: j.Message})
	}
	return out
}
