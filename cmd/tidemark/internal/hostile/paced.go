package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
)

type pacedConfig struct {
	Path string `name:"path" required:"true" help:"the file with the events, a JSON object a line"`
	Pace string `name:"pace" help:"a file with the number of events that may be read by now; without it, all"`
}

// paced is a source of three partitions that remembers where it was.
type paced struct{ c pacedConfig }

func (p paced) Run(ctx context.Context, out *sdk.SourceContext[Event]) error {
	f, err := os.Open(p.c.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	var parts [3]*sdk.Partition[Event]
	var skip [3]int64
	for i := range parts { // all at once, because each holds back the time of the others until it has spoken
		parts[i] = out.Partition(fmt.Sprint("part", i))
		skip[i] = parts[i].Count()
	}
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 64<<20)
	allowed := 0
	for n := 0; scan.Scan(); n++ {
		for n >= allowed {
			if allowed, err = p.allowed(ctx); err != nil {
				return err
			}
		}
		var e Event
		if err := json.Unmarshal(scan.Bytes(), &e); err != nil {
			return err
		}
		if skip[e.Part] > 0 {
			skip[e.Part]--
			continue
		}
		e.TS -= e.Part * 60_000 // the partitions are far from each other, so that one which is left out of the watermark shows
		if err := parts[e.Part].CollectWithTimestamp(e, e.TS); err != nil {
			return err
		}
	}
	return scan.Err()
}

// allowed is how many events may be read; it waits a moment before it looks.
func (p paced) allowed(ctx context.Context) (int, error) {
	if p.c.Pace == "" {
		return 1 << 30, nil
	}
	select {
	case <-time.After(5 * time.Millisecond):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	text, err := os.ReadFile(p.c.Pace)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 { // it is being written
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	_, err = fmt.Sscan(string(text), &n)
	return n, err
}
