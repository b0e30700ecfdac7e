package pipeline

import "github.com/tidemark-stream/tidemark/sdk/batch"

// Passage says what has become of the rows that [Settings.Seen] is shown.
type Passage uint8

const (
	Entered Passage = iota // the alive rows have come to a step, with the columns that it reads
	Left                   // the alive rows have passed a step without windows; not told of plugins
	Refused                // the rows of Bad were refused by a source, a step or a sink
)

// seenBranch shows what comes to a step.
type seenBranch struct {
	branch
	step string
	seen func(component string, p Passage, b *batch.Batch)
}

func (s seenBranch) prepare(b *batch.Batch, out []prepared) []prepared {
	s.seen(s.step, Entered, b)
	return s.branch.prepare(b, out)
}

// entering is the branch of a reader, shown to whoever wants to see it.
func (a *attempt) entering(r *path, b branch) branch {
	if a.p.set.Seen == nil || r.step == nil {
		return b
	}
	return seenBranch{b, r.step.Name, a.p.set.Seen}
}
