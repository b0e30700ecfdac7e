package http

import (
	"slices"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// span is a batch of a request: where its rows are among the request's records. The batch itself is the pipeline's once it has been sent.
type span struct {
	first   int64    // number of the source of its first row; rejects come behind the rows
	rows    int      // how many there are
	index   int      // in the request, of the batch's first record
	rejects []uint32 // the rows before which the rejects stand, ascending; nil for most batches
}

// spanOf notes what an answer needs to know of a batch whose first record is number index of its request.
func spanOf(b *batch.Batch, first int64, index int) span {
	s := span{first: first, rows: b.N, index: index}
	for _, j := range b.Rejects {
		s.rejects = append(s.rejects, j.After)
	}
	return s
}

// indexOf is the index in the request of a row, by the source's number for it. ok is false for numbers that are none of the batch's rows.
func (s *span) indexOf(number int64) (index int, ok bool) {
	row := number - s.first
	if row < 0 || row >= int64(s.rows) {
		return 0, false
	}
	before, _ := slices.BinarySearch(s.rejects, uint32(row)+1) // rejects that stand before the row
	return s.index + int(row) + before, true
}

// fail notes that a record of the job was refused by the pipeline. It reports whether the record is one of the job's.
func (j *job) fail(r sdk.Refusal) bool {
	for i := range j.spans {
		if index, ok := j.spans[i].indexOf(r.Record); ok {
			j.refused = append(j.refused, refusal{Index: index, Reason: r.Code, Message: r.Message})
			return true
		}
	}
	return false
}

// amend adds what the pipeline has refused to an answer about what the source itself knows.
func (a *answer) amend(more []refusal) {
	if len(more) == 0 {
		return
	}
	a.Accepted -= len(more)
	a.Rejected = append(a.Rejected, more...)
	slices.SortStableFunc(a.Rejected, func(x, y refusal) int { return x.Index - y.Index })
}

// Refused notes what the pipeline has refused for the requests that wait. Those that were answered before the commit are not looked for.
func (s *source) Refused(_ string, refused []sdk.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := s.waiting
	for _, r := range refused {
		for len(jobs) > 0 && jobs[0].number <= r.Record { // numbers rise, and so do the requests'
			jobs = jobs[1:]
		}
		if len(jobs) == 0 {
			return
		}
		jobs[0].fail(r)
	}
}
