package pipeline

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/zeebo/xxh3"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// ward looks after the records that are with one assigner or transform plugin, and finds the one that kills it. It outlives attempts:
//
//  1. The plugin fails. The records that it had and had not answered are suspects.
//  2. The next attempt gives suspects to it one at a time, with nothing else before or behind; each that comes back is cleared.
//  3. It fails again, with a single record. That may be chance, so it gets the record once more.
//  4. It fails with the same one: the record is convicted, and the attempt after that refuses it with the code "poison". Its letter
//     is in the commit that moves past it, after which the conviction is forgotten.
//  5. If there is no such commit before the pipeline ends, its next life may have a plugin that was mended: the record is on parole, and is given
//     to the plugin once more, alone. Should that fail, too, the conviction holds in all further lives.
//
// A plugin that fails with every record is itself to blame: failures between which it has answered no record are counted, whatever was
// convicted meanwhile, and open the breaker (see [Pipeline.Run]), lest all records be refused two failures apart.
//
// A failure that has other reasons costs a few thousand records going one by one, nothing more. A failure before a commit does not start
// anew: a record is known by what it holds and where it stands, not by its batch. While there is no suspect all this costs two short locks
// a batch.
type ward struct {
	what      string // for people: "assigner mine of source clicks"
	positions bool   // a row's position says the same in every attempt
	log       hclog.Logger

	watchful atomic.Bool   // there are suspects or convicts
	landed   chan struct{} // told when a batch has come back

	mu       sync.Mutex
	places   *places // of the attempt
	given    []*batch.Batch
	failure  bool // of this attempt
	answers  bool // it has answered a record in this attempt
	suspects map[recordID]bool
	alone    recordID // with which the plugin failed last, if it had only one
	times    int      // and how often in a row
	convicts map[recordID]*verdict
	parole   map[recordID]bool
	found    int  // how many there were in all
	proven   int  // of them, those after which it has answered another record
	kept     bool // the store holds something of this, see poison_kept.go
}

// recordID is a hash over a record and its place.
type recordID uint64

// verdict is about a convicted record.
type verdict struct {
	message string
	lasting bool   // it has been on parole
	refused bool   // in this attempt
	barrier uint64 // the first one behind the refusal, or 0
}

// done says that the record's letter is in the commit of a barrier.
func (v *verdict) done(barrier uint64) bool { return v.barrier != 0 && v.barrier <= barrier }

// poisonCode is the code of records that end a plugin again and again.
const poisonCode = "poison"

// ward returns the one of a component, which is made when it is first asked for. A new attempt begins.
func (a *attempt) ward(what string, positions bool) *ward {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	w := a.p.wards[what]
	if w == nil {
		w = &ward{what: what, positions: positions, log: a.p.set.Log, landed: make(chan struct{}, 1), convicts: map[recordID]*verdict{}, parole: map[recordID]bool{}}
		w.recall(a.store)
		if a.p.wards == nil {
			a.p.wards = map[string]*ward{}
		}
		a.p.wards[what] = w
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places, w.given, w.failure, w.answers = a.places, nil, false, false
	for _, v := range w.convicts {
		v.refused, v.barrier = false, 0
	}
	a.wards = append(a.wards, w)
	return w
}

// give notes that the plugin gets a batch.
func (w *ward) give(b *batch.Batch) {
	w.mu.Lock()
	w.given = append(w.given, b)
	w.mu.Unlock()
}

// took notes that the oldest batch has come back.
func (w *ward) took() {
	w.mu.Lock()
	if w.given[0].Alive() > 0 {
		w.answers, w.proven = true, w.found
	}
	w.given = slices.Delete(w.given, 0, 1)
	w.mu.Unlock()
	select {
	case w.landed <- struct{}{}:
	default:
	}
}

// settle waits until the plugin has nothing.
func (w *ward) settle(ctx context.Context) error {
	for {
		w.mu.Lock()
		n := len(w.given)
		w.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-w.landed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// failed is called with an error of the plugin. When ctx has ended, it was us who ended it.
func (w *ward) failed(ctx context.Context, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure || ctx.Err() != nil {
		return
	}
	w.failure = true
	had := map[recordID]bool{}
	var last recordID
	for _, b := range w.given {
		for _, row := range b.Select() {
			last = w.id(b, int(row))
			had[last] = true
		}
	}
	switch {
	case len(had) == 0: // it was not a record
		return
	case len(had) > 1:
		w.alone, w.times = 0, 0
		w.log.Warn("a plugin has failed; the next attempt gives it the records that it had one by one", "component", w.what, "records", len(had))
	case w.parole[last]:
		w.alone, w.times = last, 2
	case last != w.alone:
		w.alone, w.times = last, 1
	default:
		w.times++
	}
	w.suspects = had
	if w.times >= 2 {
		lasting := w.parole[last]
		delete(w.suspects, last)
		delete(w.parole, last)
		w.alone, w.times = 0, 0
		w.found++
		w.convicts[last] = &verdict{lasting: lasting, message: fmt.Sprintf("%s has failed again and again when it had this record: %v", w.what, err)}
		w.log.Error("a record has ended a plugin twice by itself; it is refused from now on", "component", w.what, "error", err)
	}
	w.look()
}

// verdicts is how many records were convicted, and after how many of them the plugin has answered another one. useless says that it has failed
// in this attempt without having answered any record.
func (w *ward) verdicts() (found, proven int, useless bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.found, w.proven, w.failure && !w.answers
}

func (w *ward) look() { w.watchful.Store(len(w.suspects)+len(w.convicts)+len(w.parole) > 0) }

// reason turns the error of a call into the reason for it. A call that only finds the plugin closed leaves the word to whoever receives its
// answers, and waits for the end that this brings.
func reason(ctx context.Context, err error) error {
	if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.EOF) {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return err
}

// id knows a row again in another attempt; w.mu is held.
func (w *ward) id(b *batch.Batch, row int) recordID {
	source, partition := w.places.find(b.Source, b.Partition)
	text := append(append([]byte(source), 0), partition...)
	raw := b.Row(row)
	if w.positions || raw != nil {
		text = binary.LittleEndian.AppendUint64(append(text, 1), uint64(b.RowPosition(row)))
	}
	if raw == nil {
		raw = columnsAsJSON(b, row)
	}
	return recordID(xxh3.Hash(append(append(text, 0), raw...)))
}

// inspect refuses the convicted rows of a batch that the plugin is to get, and finds the suspects among the others; nil when there are
// none.
func (w *ward) inspect(b *batch.Batch) (suspects map[uint32]recordID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := len(b.Bad)
	for _, row := range b.Select() {
		id := w.id(b, int(row))
		if v := w.convicts[id]; v != nil {
			b.Refuse(int(row), poisonCode, v.message)
			v.refused, v.barrier = true, 0
		} else if w.suspects[id] || w.parole[id] {
			if suspects == nil {
				suspects = map[uint32]recordID{}
			}
			suspects[row] = id
		}
	}
	b.Narrow(from)
	return suspects
}

// cleared says that the plugin has survived a suspect.
func (w *ward) cleared(id recordID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.suspects, id)
	delete(w.parole, id)
	w.look()
}

// barrier is called when one passes the plugin's place in the stream.
func (w *ward) barrier(id uint64) {
	if !w.watchful.Load() || isProbe(id) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.convicts {
		if v.refused && v.barrier == 0 {
			v.barrier = id
		}
	}
}

// committed forgets the verdicts whose letters are safe.
func (w *ward) committed(barrier uint64) {
	if !w.watchful.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, v := range w.convicts {
		if v.done(barrier) {
			delete(w.convicts, id)
		}
	}
	w.look()
}

// carefully gives a batch to the plugin with its suspects one by one, and returns when all of it has been answered. It takes over b. give
// does what is otherwise done with a whole batch.
func (w *ward) carefully(ctx context.Context, b *batch.Batch, suspects map[uint32]recordID, give func(*batch.Batch) error) error {
	parts := apart(b, func(row uint32) bool { _, ok := suspects[row]; return ok })
	for i, part := range parts {
		single, lone := recordID(0), false
		if part.Alive() == 1 {
			single, lone = suspects[part.Sel[0]]
		}
		err := w.settle(ctx)
		if err == nil {
			err = give(part)
		}
		if err == nil {
			err = w.settle(ctx)
		}
		if err != nil {
			for _, rest := range parts[i+1:] {
				rest.Release()
			}
			return err
		}
		if lone {
			w.cleared(single)
		}
	}
	return nil
}

// apart cuts a batch, which it takes over, into pieces: a row for which alone is true is one of its own. Only the last piece carries the
// position and what was refused before, so that no commit can take the batch for done before that; marks stand where they stood.
func apart(b *batch.Batch, alone func(row uint32) bool) []*batch.Batch {
	return inParts(b, func(before, row uint32) bool { return alone(before) || alone(row) })
}

// inParts cuts a batch like that between any two rows for which between is true.
func inParts(b *batch.Batch, between func(before, row uint32) bool) []*batch.Batch {
	rows := b.Select()
	var pieces []*batch.Batch
	marks := b.Marks
	before := b.Before
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && !between(rows[to-1], rows[to]) {
			to++
		}
		f := b.Fork()
		f.Sel, f.Times, f.Before, f.Position = slices.Clone(rows[from:to]), slices.Clone(b.Times), before, nil
		n := len(marks)
		if to < len(rows) {
			n = 0
			for n < len(marks) && marks[n].After <= rows[to-1] {
				n++
			}
		}
		f.Marks = slices.Clone(marks[:n])
		if n > 0 {
			before = marks[n-1].Watermark
		}
		marks, from = marks[n:], to
		pieces = append(pieces, f)
	}
	last := pieces[len(pieces)-1]
	last.Position, last.Rejects, last.Bad = b.Position, b.Rejects, b.Bad
	b.Release()
	return pieces
}
