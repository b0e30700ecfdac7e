package watermark

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Snapshots are a version byte followed by varints. They are stored in checkpoints: a new layout gets a new version, and old ones
// stay readable.
const (
	partitionsVersion = 1 // 2026: watermark, idle, then per partition id, flags, watermark
	valveVersion      = 1 // 2026: watermark, idle, then per input flags, watermark
)

const (
	flagSeen = 1 << iota
	flagIdle
	flagEnded
	flagUnaligned
)

// ErrSnapshot marks bytes that are not a snapshot of this kind.
var ErrSnapshot = errors.New("watermark: damaged or unknown snapshot")

// Snapshot appends what a checkpoint has to keep: the combined watermark and each partition's watermark and state. Processing times and
// holds are not kept; idleness clocks start anew after a restore.
func (p *Partitions) Snapshot(out []byte) []byte {
	out = appendOutput(append(out, partitionsVersion), &p.output, len(p.parts))
	for i := range p.parts {
		q := &p.parts[i]
		out = binary.AppendUvarint(out, uint64(q.id))
		out = append(out, flag(q.seen, flagSeen)|flag(q.idle, flagIdle)|flag(q.ended, flagEnded))
		out = binary.AppendVarint(out, q.watermark)
	}
	return out
}

// Restore replaces all partitions by those of a snapshot, at processing time now. It announces nothing: downstream restores its own
// watermark. On an error nothing has changed.
func (p *Partitions) Restore(snapshot []byte, now int64) error {
	r := reader{rest: snapshot}
	output, n := r.output(partitionsVersion)
	fresh := NewPartitions(p.settings)
	fresh.output = output
	for ; n > 0 && !r.bad; n-- {
		id, flags, w := uint32(r.uvarint()), r.byte(), r.varint()
		if _, twice := fresh.slots[id]; twice {
			r.bad = true
		}
		fresh.Add(id, now)
		q := &fresh.parts[len(fresh.parts)-1]
		q.seen, q.idle, q.ended, q.watermark = flags&flagSeen != 0, flags&flagIdle != 0, flags&flagEnded != 0, w
	}
	if err := r.end("partitions"); err != nil {
		return err
	}
	fresh.now = max(p.now, now)
	fresh.left()
	*p = *fresh
	return nil
}

// Snapshot appends what a checkpoint has to keep of a valve.
func (v *Valve) Snapshot(out []byte) []byte {
	out = appendOutput(append(out, valveVersion), &v.output, len(v.inputs))
	for _, in := range v.inputs {
		out = append(out, flag(in.idle, flagIdle)|flag(in.ended, flagEnded)|flag(in.unaligned, flagUnaligned))
		out = binary.AppendVarint(out, in.watermark)
	}
	return out
}

// Restore sets a valve with the same number of inputs to a snapshot. It announces nothing. On an error nothing has changed.
func (v *Valve) Restore(snapshot []byte) error {
	r := reader{rest: snapshot}
	if _, n := r.output(valveVersion); !r.bad && n != uint64(len(v.inputs)) {
		return fmt.Errorf("watermark: snapshot of a valve with %d inputs, this one has %d", n, len(v.inputs))
	}
	was := make([]int, len(v.inputs))
	for i := range was {
		was[i] = i
	}
	return v.RestoreInputs(snapshot, was)
}

// RestoreInputs sets a valve to a snapshot of one with other inputs: input i was input was[i] there; a negative number is a new one, which
// begins active and without a watermark, so the output waits for it. What the snapshot's other inputs said is forgotten. It announces
// nothing. On an error nothing has changed.
func (v *Valve) RestoreInputs(snapshot []byte, was []int) error {
	r := reader{rest: snapshot}
	output, n := r.output(valveVersion)
	var before []valveInput
	for ; n > 0 && !r.bad; n-- {
		flags, w := r.byte(), r.varint()
		before = append(before, valveInput{watermark: w, idle: flags&flagIdle != 0, ended: flags&flagEnded != 0, unaligned: flags&flagUnaligned != 0})
	}
	if err := r.end("valve"); err != nil {
		return err
	}
	inputs := NewValve(len(v.inputs), 1, 0).inputs
	for i, j := range was {
		switch {
		case j >= len(before):
			return fmt.Errorf("restore valve: there was no input %d: %w", j, ErrSnapshot)
		case j >= 0:
			inputs[i] = before[j]
		default:
			output.idle = false // a new input is active
		}
	}
	v.output, v.inputs = output, inputs
	v.coalesce = NewCoalescer(v.coalesce.granularity, v.coalesce.offset)
	return nil
}

func appendOutput(out []byte, e *Emitter, n int) []byte {
	out = binary.AppendVarint(out, e.last)
	out = append(out, flag(e.idle, flagIdle))
	return binary.AppendUvarint(out, uint64(n))
}

func flag(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

// reader takes a snapshot apart; after the first mistake it is bad and returns zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) output(version byte) (Emitter, uint64) {
	if r.byte() != version {
		r.bad = true
	}
	e := NewEmitter()
	e.last = r.varint()
	e.idle = r.byte()&flagIdle != 0
	n := r.uvarint()
	if n > uint64(len(r.rest)) { // each entry takes a byte at least; nothing is allocated for a lie
		r.bad = true
	}
	return e, n
}

func (r *reader) byte() byte {
	if r.bad || len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.bad || n <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if r.bad || n <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) end(of string) error {
	if r.bad || len(r.rest) > 0 {
		return fmt.Errorf("restore %s: %w", of, ErrSnapshot)
	}
	return nil
}
