package deliver

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// The records of a sink are meta values of the store:
//
//	"sink", name            version | next number | taken up to | chunks | each: rows, bytes      uvarints; the chunks not yet taken, oldest first
//	"refused", name, number   the dead letter of a row that the sink refuses, nothing once the letter has joined the others (see Letters);
//	                        gone when the sink is past the row
//	"skip", name            version | number up to which rows are left out, after a savepoint was restored; see skip.go
//	run "outbox", name, first   a chunk of rows, see codec.go; those that the record does not name are of a checkpoint that never was
const (
	// 1 was the first one. 2: chunks are a run (see keys.Run), which the database need not compact; see upgrade.go.
	recordVersion = 2
	kindSink      = "sink"
	kindOutbox    = "outbox"
	kindRefused   = "refused"
	kindSkip      = "skip"
)

var errRecord = errors.New("damaged record")

// record says where a sink stands.
type record struct {
	version byte
	next    uint64 // number of the next row
	acked   uint64 // the sink has taken all rows up to this one
	chunks  []*chunk
}

func (r record) encode() []byte {
	b := []byte{recordVersion}
	b = binary.AppendUvarint(b, r.next)
	b = binary.AppendUvarint(b, r.acked)
	b = binary.AppendUvarint(b, uint64(len(r.chunks)))
	for _, c := range r.chunks {
		b = binary.AppendUvarint(b, uint64(c.rows))
		b = binary.AppendUvarint(b, uint64(c.bytes))
	}
	return b
}

func decodeRecord(b []byte) (record, error) {
	r := chunkReader{rest: b}
	version := r.byte()
	if version < 1 || version > recordVersion {
		return record{}, errRecord
	}
	out := record{version: version, next: r.uvarint(), acked: r.uvarint()}
	rows := uint64(0)
	for range r.count(len(b)) {
		c := &chunk{rows: int(r.uvarint()), bytes: int64(r.uvarint()), put: true, stored: true, closed: true}
		if c.rows <= 0 || c.bytes < 0 || rows+uint64(c.rows) < rows {
			return record{}, errRecord
		}
		rows += uint64(c.rows)
		out.chunks = append(out.chunks, c)
	}
	if r.bad || len(r.rest) > 0 || out.next == 0 || out.acked >= out.next || rows >= out.next {
		return record{}, errRecord
	}
	first := out.next - rows
	for _, c := range out.chunks {
		c.first = first
		first = c.end()
	}
	return out, nil
}

func sinkName(sink string) keys.Name { return keys.Name(nil).Text(kindSink).Text(sink) }

func chunkName(sink string, first uint64) keys.Name {
	return chunkPrefix(sink).Number(first)
}

// chunkPrefix is what the names of all chunks of a sink begin with.
func chunkPrefix(sink string) keys.Name { return keys.Run(kindOutbox).Text(sink) }

func refusedName(sink string, number uint64) keys.Name {
	return keys.Name(nil).Text(kindRefused).Text(sink).Number(number)
}

func damaged(store *state.Store, what string, err error) error {
	return &state.Error{
		Kind: state.Damaged, Path: store.Dir(), Summary: fmt.Sprintf("%s cannot be read", what),
		Hint: "restore a savepoint with `tidemark savepoint restore`", Err: err,
	}
}
