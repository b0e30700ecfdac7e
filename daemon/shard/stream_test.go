package shard

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// piecemeal is a tally that hands its results over one at a time, in the middle of calls.
type piecemeal struct {
	*tally
	own, out *window.Output
	held     int64
}

func newPiecemeal(out *window.Output) *piecemeal {
	own := &window.Output{Results: batch.Get()}
	return &piecemeal{tally: newTally(own), own: own, out: out}
}

func (p *piecemeal) Process(rows window.Rows) {
	p.tally.Process(rows)
	p.out.Late, p.own.Late = append(p.out.Late, p.own.Late...), p.own.Late[:0]
	p.held += int64(len(rows.Index))
}

func (p *piecemeal) AdvanceWatermark(w int64) {
	p.own.Place = p.out.Place
	p.tally.AdvanceWatermark(w)
	for _, s := range p.own.Segments {
		for row := s.From; row < s.To; row++ {
			to := uint32(p.out.Results.N)
			p.out.Results.AppendRows(p.own.Results, int(row), int(row)+1)
			p.out.Segments = append(p.out.Segments, window.Segment{Place: s.Place, At: s.At, End: s.End, From: to, To: to + 1})
			if !p.out.Overflow() {
				return
			}
		}
	}
	p.own.Results.Reset()
	p.own.Segments = p.own.Segments[:0]
}

func (p *piecemeal) Attach(window.Store, int64) error { return nil }
func (p *piecemeal) Held() int64                      { return p.held }
func (p *piecemeal) Shrink()                          {}
func (p *piecemeal) Err() error                       { return nil }

// TestPiecesOfWindowsComeInTheOrderOfWholeOnes: shards that fire piece by piece, some with marks between rows, some rows late, give the rows, marks and late
// rows in the order they have without. Each late row comes with the watermark it was judged against.
func TestPiecesOfWindowsComeInTheOrderOfWholeOnes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var messages []*batch.Batch
		var again []*batch.Batch
		w, total := int64(0), int64(0)
		for range rapid.IntRange(1, 5).Draw(rt, "messages") {
			var events []event
			var marks []batch.Mark
			for i := range rapid.IntRange(1, 20).Draw(rt, "rows") {
				events = append(events, event{string(rune('a' + rapid.IntRange(0, 9).Draw(rt, "key"))), int64(rapid.IntRange(0, 100).Draw(rt, "ts"))})
				if rapid.IntRange(0, 3).Draw(rt, "mark") == 0 {
					w += int64(rapid.IntRange(1, 12).Draw(rt, "step"))
					marks = append(marks, batch.Mark{After: uint32(i + 1), Watermark: w})
				}
			}
			total += int64(len(events))
			messages, again = append(messages, rows(marks, events...)), append(again, rows(marks, events...))
		}
		run := func(messages []*batch.Batch, shards int, operator func(out *window.Output) window.Operator) (late, rest string, firings, held int64) {
			var end []func()
			told := make(chan int64, 100*shards)
			s, d := start(rt, func(f func()) { end = append(end, f) }, Config{
				Inputs: 1, Shards: shards, resultRows: rapid.IntRange(1, 9).Draw(rt, "result rows"),
				NewOperator: func(_ int, out *window.Output) (window.Operator, error) { return operator(out), nil },
				Held:        func(change int64) { told <- change },
			})
			in := s.Input(0)
			for _, m := range messages {
				require.NoError(rt, in.Send(in.Prepare(m)))
			}
			require.NoError(rt, in.Send(in.Prepare(rows([]batch.Mark{{Watermark: batch.EndOfInput}}))))
			require.NoError(rt, in.Barrier(1))
			for {
				lines := d.wait(rt, 1)
				if lines[len(lines)-1] == "barrier 1" {
					firings = s.Firings()
					for _, f := range end {
						f()
					}
					close(told)
					for change := range told {
						held += change
					}
					late, rest = apart(lines)
					return late, rest, firings, held
				}
			}
		}
		late, rest, firings, _ := run(messages, 1, func(out *window.Output) window.Operator { return newTally(out) })
		late2, rest2, firings2, held := run(again, rapid.IntRange(1, 4).Draw(rt, "shards"), func(out *window.Output) window.Operator { return newPiecemeal(out) })
		require.Equal(rt, late, late2)
		require.Equal(rt, rest, rest2)
		require.Equal(rt, firings, firings2)
		require.Equal(rt, total, held, "what the operators say they hold reaches the stage")
	})
}
