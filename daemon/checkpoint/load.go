package checkpoint

import (
	"github.com/tidemark-stream/tidemark/state/keys"
)

// head is the record that every commit changes.
type head struct {
	number uint64
	time   int64
	id     string
}

// State is what the last commit says, windows and outboxes left aside.
type State struct {
	Number     uint64 // of the commit, counting from 1; 0: there was none yet
	Time       int64  // when it was made, processing time in ms
	StoreID    string // random, made with the first commit: what a sink keeps its books under
	KeyID      string // the same for sinks that keep none; another one once a savepoint was restored
	Skip       bool   // it was restored so that rows which its sinks hold already are left out, and they have not been asked yet
	Snapshot   Snapshot
	Components map[string]Component
}

// Read returns what the last commit of a store says. It reads no windows, so it is quick whatever the size of the state.
func Read(store Reader) (*State, error) {
	s := &State{Snapshot: newSnapshot(), Components: map[string]Component{}}
	b, err := store.Meta(name(kindCheckpoint))
	if err != nil {
		return nil, err
	}
	if b != nil {
		h, err := decodeHead(b)
		if err != nil {
			return nil, damaged(store, name(kindCheckpoint), err)
		}
		s.Number, s.Time, s.StoreID = h.number, h.time, h.id
	}
	if s.KeyID, s.Skip, err = readRestored(store); err != nil {
		return nil, err
	}
	if s.KeyID == "" {
		s.KeyID = s.StoreID
	}
	err = scan(store, kindSource, 1, func(parts []string, value []byte) (err error) {
		s.Snapshot.Sources[parts[0]], err = decodeSource(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = scan(store, kindPartition, 2, func(parts []string, value []byte) error {
		p, err := decodePartition(value)
		source, known := s.Snapshot.Sources[parts[0]]
		if err != nil || !known {
			return errRecord
		}
		source.Partitions[parts[1]] = p
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = scan(store, kindStage, 1, func(parts []string, value []byte) (err error) {
		s.Snapshot.Stages[parts[0]], err = decodeStage(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = scan(store, kindComponent, 1, func(parts []string, value []byte) (err error) {
		s.Components[parts[0]], err = decodeComponent(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = scan(store, kindTransform, 1, func(parts []string, value []byte) error {
		_, plugin := StateOf("", value)
		if _, known := s.Components[parts[0]]; !known && plugin != "" {
			s.Components[parts[0]] = Transform(plugin)
		}
		return nil
	})
	return s, err
}

// TransformName is what the state of a step's plugin is kept under.
func TransformName(step string) keys.Name { return name(kindTransform, step) }

func name(parts ...string) keys.Name {
	var n keys.Name
	for _, p := range parts {
		n = n.Text(p)
	}
	return n
}

// scan visits the records of a kind, with the parts of their names behind the kind.
func scan(store Reader, kind string, parts int, visit func(parts []string, value []byte) error) error {
	return store.ScanMeta(name(kind), func(n, value []byte) error {
		r := keys.ReadName(n)
		r.Text()
		texts := make([]string, parts)
		for i := range texts {
			texts[i] = r.Text()
		}
		err := r.End()
		if err == nil {
			err = visit(texts, value)
		}
		if err != nil {
			return damaged(store, n, err)
		}
		return nil
	})
}
