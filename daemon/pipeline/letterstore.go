package pipeline

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/deadletter"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// lettersName is the meta key of the dead letters of the last commit: the number of the first, then each with its length. They are
// written to their store after the commit, by their numbers, and once more after a crash between the two; so each is there once (D1).
var lettersName = keys.Name(nil).Text("letters")

// letterPart puts the letters of a cut into its commit.
type letterPart struct {
	first   uint64
	letters []deadletter.Letter
}

func (a *attempt) letterPart(letters []deadletter.Letter) checkpoint.Contributor {
	return letterPart{a.deadLetters.Next(), letters}
}

func (p letterPart) Contribute(d *state.Delta) {
	if len(p.letters) == 0 {
		d.Remove(lettersName)
		return
	}
	value := binary.AppendUvarint(nil, p.first)
	var one []byte
	for i := range p.letters {
		one, _ = p.letters[i].AppendBinary(one[:0])
		value = binary.AppendUvarint(value, uint64(len(one)))
		value = append(value, one...)
	}
	d.Put(lettersName, value)
}

// deliverLetters writes committed letters to their store.
func (a *attempt) deliverLetters(letters []deadletter.Letter) error {
	if len(letters) == 0 {
		return nil
	}
	if err := a.deadLetters.Append(a.deadLetters.Next(), letters); err != nil {
		return fmt.Errorf("write dead letters: %w", err)
	}
	return nil
}

// redeliverLetters writes the letters of the last commit, in case the crash came before that.
func (a *attempt) redeliverLetters() error {
	value, err := a.store.Meta(lettersName)
	if err != nil || value == nil {
		return err
	}
	first, n := binary.Uvarint(value)
	if n <= 0 {
		return fmt.Errorf("the stored dead letters are damaged")
	}
	var letters []deadletter.Letter
	for value = value[n:]; len(value) > 0; {
		size, n := binary.Uvarint(value)
		if n <= 0 || size > uint64(len(value)-n) {
			return fmt.Errorf("the stored dead letters are damaged")
		}
		var l deadletter.Letter
		if err := l.UnmarshalBinary(value[n : n+int(size)]); err != nil {
			return err
		}
		letters = append(letters, l)
		value = value[n+int(size):]
	}
	return a.deadLetters.Append(first, letters)
}

func (a *attempt) cutLetters(barrier uint64) error {
	letters := a.box.take()
	return a.coord.contribute(a.ctx, barrier, func(c *cut) { c.letters = letters })
}
