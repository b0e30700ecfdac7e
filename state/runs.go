package state

import (
	"bytes"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// runTable is how many bytes of a commit's values of runs are a reason for tables: a batch is flushed into a table together with everything
// else, and compacted with it.
const runTable = 64 << 10

// apart is true for commits whose changes to runs should not go through a batch: for values that are many, and for removals where such
// values are there to be removed.
func (s *Store) apart(cs *changeSet) bool {
	start, end := keys.RunBounds()
	n := 0
	for i := range cs.meta {
		if bytes.Compare(cs.meta[i].key, end) >= 0 {
			break
		}
		n += len(cs.meta[i].value)
	}
	removes := false
	for _, r := range cs.spans {
		removes = removes || bytes.Compare(r.start, end) < 0 && bytes.Compare(r.end, start) > 0
	}
	many := n >= runTable
	apart := many || removes && s.laid
	if apart {
		s.laid = many
	}
	return apart
}

// split takes a change set apart into sets for tables of their own: one for each run of values (see [keys.Run]) and one for the rest.
//
// The values of a run are dead a few commits after they were written. In a table together with other things they would be read and
// written again by each compaction of those. Alone they overlap nothing that is there, so the database puts them at the bottom, and
// leaves them alone until they are cut out: gone is a range of keys from which everything older than the commit is to be taken away.
// A commit can cut out one range only; of the others there are removals to read past, in tables of their own.
func (cs *changeSet) split() (parts []*changeSet, gone *span) {
	start, end := keys.RunBounds()
	rest := *cs
	var runs changeSet
	runs.meta, rest.meta = splitMeta(cs.meta, end)
	runs.spans, rest.spans = splitSpans(cs.spans, start, end)
	if len(runs.meta)+len(runs.spans) == 0 {
		return []*changeSet{cs}, nil
	}
	if groups, ok := runs.groups(); ok {
		parts = groups
		for i := range runs.spans {
			if i == 0 {
				gone = &runs.spans[0]
				continue
			}
			parts = append(parts, &changeSet{spans: runs.spans[i : i+1]})
		}
	} else {
		parts = append(parts, &runs)
	}
	if len(rest.meta)+len(rest.spans)+len(rest.cursors) > 0 {
		parts = append(parts, &rest)
	}
	return parts, gone
}

// splitMeta divides ordered changes into those below a key and the others.
func splitMeta(meta []metaChange, end []byte) (below, others []metaChange) {
	n := 0
	for n < len(meta) && bytes.Compare(meta[n].key, end) < 0 {
		n++
	}
	return meta[:n], meta[n:]
}

// splitSpans divides spans into what lies within bounds and what does not.
func splitSpans(spans []span, start, end []byte) (within, others []span) {
	for _, s := range spans {
		if bytes.Compare(s.end, start) <= 0 || bytes.Compare(s.start, end) >= 0 {
			others = append(others, s)
			continue
		}
		if bytes.Compare(s.start, start) < 0 {
			others = append(others, span{s.start, start})
			s.start = start
		}
		if bytes.Compare(s.end, end) > 0 {
			others = append(others, span{end, s.end})
			s.end = end
		}
		within = append(within, s)
	}
	return within, others
}

// groups divides the changes of runs by run. It is false if that cannot be done because something is not as runs are: a removal reaches
// beside or between the keys of its own commit, or a key belongs to no run.
func (cs *changeSet) groups() (groups []*changeSet, ok bool) {
	for from := 0; from < len(cs.meta); {
		run := keys.RunOf(cs.meta[from].key)
		if run == nil {
			return nil, false
		}
		to := from + 1
		for to < len(cs.meta) && bytes.Equal(keys.RunOf(cs.meta[to].key), run) {
			to++
		}
		first, last := cs.meta[from].key, cs.meta[to-1].key
		for _, s := range cs.spans {
			if bytes.Compare(s.start, last) <= 0 && bytes.Compare(s.end, first) > 0 {
				return nil, false
			}
		}
		groups = append(groups, &changeSet{meta: cs.meta[from:to]})
		from = to
	}
	return groups, true
}
