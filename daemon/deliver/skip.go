package deliver

import (
	"context"
	"encoding/binary"

	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// A state that was restored from a savepoint may be older than its sinks: they hold rows that come only after the savepoint. Where its user
// has chosen so, these rows are left out when they come again, by their numbers. The number up to which this goes is what the sink says when
// it is asked for the first time; it is kept, so that a restart goes on with it and a sink that is ahead for another reason is refused.

// skipRecord is the value of "skip", sink.
func skipRecord(number uint64) []byte { return binary.AppendUvarint([]byte{1}, number) }

func decodeSkip(b []byte) (uint64, bool) {
	r := chunkReader{rest: b}
	version, number := r.byte(), r.uvarint()
	return number, version == 1 && !r.bad && len(r.rest) == 0
}

func skipName(sink string) keys.Name { return keys.Name(nil).Text(kindSkip).Text(sink) }

// maySkip says whether rows up to a number that the sink holds may be left out, and notes how far when it is chosen anew.
func (o *Outbox) maySkip(ctx context.Context, number uint64) (bool, error) {
	if o.set.Skip {
		var d state.Delta
		d.Put(skipName(o.set.Name), skipRecord(number))
		_, err := o.set.Store.Commit(ctx, &d)
		return err == nil, err
	}
	stored, err := o.set.Store.Meta(skipName(o.set.Name))
	if err != nil || stored == nil {
		return false, err
	}
	limit, ok := decodeSkip(stored)
	if !ok {
		return false, damaged(o.set.Store, "how far rows for sink "+o.set.Name+" are left out", errRecord)
	}
	return number <= limit, nil
}

// skip begins to leave out the rows up to a number, which no row has been given yet.
func (o *Outbox) skip(number uint64) {
	o.set.Log.Info("the sink holds rows that the restored state does not know of yet; they are left out when they come again",
		"sink", o.set.Name, "from", o.next, "to", number)
	o.skipTo = number
	o.taken(number)
}
