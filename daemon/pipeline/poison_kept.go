package pipeline

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// What wards have found out is kept in the store, so that a daemon that is started again goes on with the search instead of beginning anew. It is written when an attempt ends, since only failures find something out, and by the commits that follow,
// until nothing is left of it.
//
//	"poison", ward     version 2 | alone (8) | times | suspects, each 8 bytes | convicts, each: record (8) | 1 if lasting, else 0 | message
//
// Numbers are uvarints; lists and texts have their length before them.
const keptVersion = 2

var errKept = errors.New("it is cut short, or of a newer version")

func (w *ward) name() keys.Name { return keys.Name(nil).Text("poison").Text(w.what) }

// encode leaves out the verdicts whose letters are in the commit of a barrier; w.mu is held. It is nil when nothing is left.
func (w *ward) encode(barrier uint64) []byte {
	var convicts []recordID
	for id, v := range w.convicts {
		if !v.done(barrier) {
			convicts = append(convicts, id)
		}
	}
	for id := range w.parole {
		convicts = append(convicts, id)
	}
	if len(w.suspects)+len(convicts) == 0 {
		return nil
	}
	slices.Sort(convicts)
	suspects := make([]recordID, 0, len(w.suspects))
	for id := range w.suspects {
		suspects = append(suspects, id)
	}
	slices.Sort(suspects)
	b := binary.BigEndian.AppendUint64([]byte{keptVersion}, uint64(w.alone))
	b = binary.AppendUvarint(b, uint64(w.times))
	b = binary.AppendUvarint(b, uint64(len(suspects)))
	for _, id := range suspects {
		b = binary.BigEndian.AppendUint64(b, uint64(id))
	}
	b = binary.AppendUvarint(b, uint64(len(convicts)))
	for _, id := range convicts {
		b = binary.BigEndian.AppendUint64(b, uint64(id))
		lasting, message := byte(0), ""
		if v := w.convicts[id]; v != nil {
			message = v.message
			if v.lasting {
				lasting = 1
			}
		}
		b = append(b, lasting)
		b = append(binary.AppendUvarint(b, uint64(len(message))), message...)
	}
	return b
}

// decode is the inverse of encode, for a ward that knows nothing yet.
func (w *ward) decode(b []byte) error {
	bad := len(b) == 0 || b[0] != keptVersion
	if !bad {
		b = b[1:]
	}
	id := func() recordID {
		if len(b) < 8 {
			bad = true
			return 0
		}
		v := binary.BigEndian.Uint64(b)
		b = b[8:]
		return recordID(v)
	}
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			bad = true
			return 0
		}
		b = b[n:]
		return v
	}
	w.alone, w.times = id(), int(number())
	w.suspects = map[recordID]bool{}
	for n := number(); n > 0 && !bad; n-- {
		w.suspects[id()] = true
	}
	for n := number(); n > 0 && !bad; n-- {
		at, lasting, length := id(), number(), number()
		if length > uint64(len(b)) {
			bad = true
			break
		}
		if lasting == 1 {
			w.convicts[at] = &verdict{lasting: true, message: string(b[:length])}
		} else {
			w.parole[at] = true
		}
		b = b[length:]
	}
	if bad || len(b) > 0 {
		return errKept
	}
	w.kept = true
	w.look()
	return nil
}

// recall brings back what an earlier run has found out. What cannot be read is found out again.
func (w *ward) recall(store *state.Store) {
	stored, err := store.Meta(w.name())
	if err == nil && stored == nil {
		return
	}
	if err == nil {
		err = w.decode(stored)
	}
	if err != nil {
		w.alone, w.times, w.suspects, w.convicts, w.parole, w.kept = 0, 0, nil, map[recordID]*verdict{}, map[recordID]bool{}, true
		w.log.Warn("what was known of records that end a plugin cannot be read, and is found out again", "component", w.what, "error", err)
	}
}

// keepWards writes what this attempt has found out; the store is still open.
func (a *attempt) keepWards() error {
	var d state.Delta
	for _, w := range a.wards {
		w.mu.Lock()
		if b := w.encode(0); w.failure && b != nil {
			d.Put(w.name(), b)
			w.kept = true
		}
		w.mu.Unlock()
	}
	if d.Len() == 0 || a.store.Err() != nil {
		return nil
	}
	_, err := a.store.Commit(context.Background(), &d) // a.ctx has ended
	return err
}

// wardPart is what a commit says of a ward.
type wardPart struct {
	*ward
	barrier uint64
}

// Contribute writes it, if something is there to be changed. See checkpoint.Contributor.
func (p wardPart) Contribute(d *state.Delta) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.kept {
		return
	}
	if b := p.encode(p.barrier); b != nil {
		d.Put(p.name(), b)
	} else {
		d.Remove(p.name())
		p.kept = false
	}
}
