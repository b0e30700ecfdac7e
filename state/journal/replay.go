package journal

import (
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Record is one record of a replay: a batch, or an event.
type Record struct {
	Number uint64
	Batch  *batch.Batch // nil for events; belongs to whoever gets the record, who releases it
	Event  []byte       // nil for batches; valid during the call only
}

// Replay hands out the records from a number on, in order, up to the last one appended before the call. An error of visit ends it and is
// returned. Nothing is skipped: a record that cannot be read, or a number from that was truncated, is an error.
func (j *Journal) Replay(from uint64, visit func(Record) error) error {
	j.mu.Lock()
	segments, until := append([]Segment(nil), j.segments...), j.next
	j.mu.Unlock()
	return replay(j.opts.FS, j.dir, segments, from, until, visit)
}

// Read replays a journal that need not be open, without changing it; a torn tail is passed over. It is for inspection.
func Read(fs vfs.FS, dir string, from uint64, visit func(Record) error) error {
	segments, err := List(fs, dir)
	if err != nil || len(segments) == 0 {
		return err
	}
	return replay(fs, dir, segments, max(from, segments[0].First), 0, visit)
}

// ReadSegment reads one segment as far as it is whole, without changing it; it may run beside a writer. The error of a damaged one comes
// after the records before the damage.
func ReadSegment(fs vfs.FS, dir string, s Segment, visit func(Record) error) error {
	w, err := walk(fs, dir, s, 0, func(number uint64, payload []byte) error {
		return deliver(fs, dir, s, number, payload, visit)
	})
	if err == nil && w.why == damage {
		err = damaged(fs, dir, s, w.end, "a record is damaged")
	}
	return err
}

// replay goes through segments; until is the number behind the last record, 0 where it is not known.
func replay(fs vfs.FS, dir string, segments []Segment, from, until uint64, visit func(Record) error) error {
	if until != 0 && from >= until {
		return nil
	}
	if len(segments) > 0 && from < segments[0].First {
		return damaged(fs, dir, segments[0], 0, "records before this file are needed and gone; they should stand before the first record,")
	}
	expect := uint64(0) // the number that the segment before ended at
	for i, s := range segments {
		last := i+1 == len(segments)
		if !last && segments[i+1].First <= from {
			continue
		}
		w, err := walk(fs, dir, s, from, func(number uint64, payload []byte) error {
			return deliver(fs, dir, s, number, payload, visit)
		})
		if err != nil {
			return err
		}
		switch {
		case w.why == damage, w.why == torn && !last, last && until != 0 && w.next != until:
			return damaged(fs, dir, s, w.end, "a record is damaged or missing")
		case expect != 0 && w.end > 0 && w.follows != expect:
			return damaged(fs, dir, s, 0, "a segment before this one is missing; its records should stand before the first record,")
		}
		expect = w.next
	}
	return nil
}

func deliver(fs vfs.FS, dir string, s Segment, number uint64, payload []byte, visit func(Record) error) error {
	switch {
	case len(payload) > 0 && payload[0] == kindEvent:
		return visit(Record{Number: number, Event: payload[1:]})
	case len(payload) > 0 && (payload[0] == kindBatch || payload[0] == kindPlaced):
		b := batch.Get()
		if err := decodeBatch(payload[0], payload[1:], b); err != nil {
			b.Release()
			break
		}
		return visit(Record{Number: number, Batch: b})
	}
	return damaged(fs, dir, s, 0, "a record of an unknown kind, or written wrongly, stands somewhere behind the first byte")
}
