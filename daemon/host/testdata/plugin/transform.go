package main

import (
	"errors"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

func badRow(i int) batch.BadRow {
	return batch.BadRow{Row: uint32(i), Code: "unwanted", Message: "it is not wanted"}
}

type doubleConfig struct{}

// In and Out are the records of double.
type In struct {
	User string `tidemark:"user"`
	TS   int64  `tidemark:"ts"`
}

type Out struct {
	User string `tidemark:"user"`
	Part int    `tidemark:"part"`
}

var double = sdk.NewTransform("double", "gives each record twice, except those of nobody", func(doubleConfig) (sdk.Transform[In, Out], error) { return doubler{}, nil })

type doubler struct{}

func (doubler) Process(in In, emit func(Out)) error {
	switch in.User {
	case "nobody":
		return nil
	case "mallory":
		return errors.New("mallory is not welcome")
	}
	emit(Out{in.User, 1})
	emit(Out{in.User, 2})
	return nil
}

// broken is a transform that does not keep to the rules.
var broken = sdk.NewBatchTransform("broken", "lies about where its rows come from", nil, nil, func(doubleConfig) (sdk.BatchTransform, error) { return liar{}, nil })

type liar struct{}

func (liar) ProcessBatch(t *sdk.Transformation) error {
	t.Out.N = 2
	t.Origin = append(t.Origin, 5_000_000, 0)
	return nil
}
