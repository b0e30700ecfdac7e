package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/plugins/source/file"
	"github.com/tidemark-stream/tidemark/plugins/source/generate"
)

// positionRow is a position with what it says to people. Only its source can go on from it.
type positionRow struct {
	checkpoint.SourcePosition
	Readable string `json:"readable"`
}

func (a *app) positions(all []checkpoint.SourcePosition) error {
	rows := []positionRow{}
	for _, p := range all {
		rows = append(rows, positionRow{p, readable(p)})
	}
	return a.table(rows, "SOURCE\tPARTITION\tPOSITION\tENDED", func(w io.Writer) {
		for _, r := range rows {
			name := r.Partition
			if _, ok := pipeline.JournalEntry(r.Partition, r.Position); ok {
				name = "(its journal)"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%t\n", r.Source, name, r.Readable, r.Ended)
		}
	})
}

// readable shows a position: those of shipped sources in words, others as text where they are text, else as digits.
func readable(p checkpoint.SourcePosition) string {
	if n, ok := pipeline.JournalEntry(p.Partition, p.Position); ok {
		return fmt.Sprintf("processed up to entry %d", n)
	}
	if json.Valid(p.Position) {
		if text, ok := file.ReadablePosition(p.Position); ok {
			return text
		}
	}
	if text, ok := generate.ReadablePosition(p.Position); ok {
		return text
	}
	if len(p.Position) > 1 && p.Position[0] == '#' { // counted by the sdk
		if n, err := strconv.ParseInt(string(p.Position[1:]), 10, 64); err == nil {
			return "behind " + counted(n, "record", "records")
		}
	}
	if len(p.Position) == 0 {
		return "its beginning"
	}
	for _, c := range p.Position {
		if c < ' ' || c > '~' {
			return fmt.Sprintf("%x", p.Position)
		}
	}
	return string(p.Position)
}
