package baseline

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// ReadResults reads the rows that the program has written as JSON lines: key, window_start and window_end, n, sum, min and max, or for
// the job without windows key, ts and value.
func ReadResults(in io.Reader, f func(*Row) error) error {
	r := bufio.NewReaderSize(in, 1<<20)
	var p resultParser
	for n := 1; ; n++ {
		line, err := r.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("result %d, %q: %w", n, line, err)
		}
		row, err := p.parse(line)
		if err != nil {
			return fmt.Errorf("result %d, %q: %w", n, line, err)
		}
		if err := f(row); err != nil {
			return err
		}
	}
}

// resultParser remembers texts that come again and again: the times of windows.
type resultParser struct {
	row   Row
	times [2]struct {
		text []byte
		ms   int64
	}
}

// parse reads a flat object whose strings have no escapes.
func (p *resultParser) parse(line []byte) (*Row, error) {
	p.row = Row{N: 1}
	rest := bytes.TrimRight(line, "\r\n")
	if len(rest) < 2 || rest[0] != '{' || rest[len(rest)-1] != '}' {
		return nil, fmt.Errorf("not a JSON object")
	}
	rest = rest[1 : len(rest)-1]
	for len(rest) > 0 {
		name, after, ok := bytes.Cut(rest[1:], []byte(`":`))
		if !ok || rest[0] != '"' || len(after) == 0 {
			return nil, fmt.Errorf("not a field: %q", rest)
		}
		var value []byte
		if after[0] == '"' {
			end := bytes.IndexByte(after[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("a string without an end: %q", after)
			}
			value, after = after[1:end+1], after[end+2:]
		} else {
			end := bytes.IndexByte(after, ',')
			if end < 0 {
				end = len(after)
			}
			value, after = after[:end], after[end:]
		}
		if err := p.field(name, value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rest = bytes.TrimPrefix(after, []byte(","))
	}
	return &p.row, nil
}

func (p *resultParser) field(name, value []byte) (err error) {
	r := &p.row
	switch string(name) {
	case "key":
		r.Key = string(value)
	case "window_start":
		r.Start, err = p.time(0, value)
	case "window_end":
		r.End, err = p.time(1, value)
	case "ts":
		r.Start, err = strconv.ParseInt(string(value), 10, 64)
		r.End = r.Start
	case "n":
		r.N, err = strconv.ParseInt(string(value), 10, 64)
	case "sum":
		r.Sum, err = cents(value)
	case "min":
		r.Min, err = cents(value)
	case "max":
		r.Max, err = cents(value)
	case "value":
		r.Sum, err = cents(value)
		r.Min, r.Max = r.Sum, r.Sum
	}
	return err
}

func (p *resultParser) time(i int, text []byte) (int64, error) {
	if !bytes.Equal(p.times[i].text, text) {
		t, err := time.Parse(time.RFC3339Nano, string(text))
		if err != nil {
			return 0, err
		}
		p.times[i].text, p.times[i].ms = bytes.Clone(text), t.UnixMilli()
	}
	return p.times[i].ms, nil
}

// cents reads a number as hundredths. What is no whole number of them within the precision of a sum is an error: a result that was rounded
// here would hide a wrong one.
func cents(text []byte) (int64, error) {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, err
	}
	c := math.Round(f * 100)
	if math.Abs(f*100-c) > 1e-3 {
		return 0, fmt.Errorf("%s is no whole number of hundredths", text)
	}
	return int64(c), nil
}
