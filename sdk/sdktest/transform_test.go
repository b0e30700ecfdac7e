package sdktest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

type numbered struct {
	N int64 `tidemark:"n"`
}

// counting numbers the records that it has seen. It can keep its count, or forget it.
type counting struct{ n int64 }

func (c *counting) Process(_ event, emit func(numbered)) error {
	c.n++
	emit(numbered{c.n})
	return nil
}

type keeping struct{ counting }

func (c *keeping) Snapshot() ([]byte, error) { return fmt.Append(nil, c.n), nil }
func (c *keeping) Restore(state []byte) error {
	_, err := fmt.Sscan(string(state), &c.n)
	return err
}

type halfKeeping struct{ keeping }

func (c *halfKeeping) Restore(state []byte) error {
	err := c.keeping.Restore(state)
	c.n -= c.n % 10
	return err
}

func TestATransformThatForgetsIsFoundOut(t *testing.T) {
	plugin := func(make func() sdk.Transform[event, numbered]) sdk.Plugin {
		return sdk.NewTransform("counting", "numbers records", func(struct{}) (sdk.Transform[event, numbered], error) { return make(), nil })
	}
	sdktest.Conforms(t, plugin(func() sdk.Transform[event, numbered] { return &keeping{} }), sdktest.Settings{})
	for hint, make := range map[string]func() sdk.Transform[event, numbered]{
		"implement sdk.Snapshotter":                              func() sdk.Transform[event, numbered] { return &counting{} },
		"Restore does not bring back all that Snapshot has seen": func() sdk.Transform[event, numbered] { return &halfKeeping{} },
	} {
		r := sdktest.Check(plugin(make), sdktest.Settings{})
		require.NotEmpty(t, r.Findings)
		require.Equal(t, "in process: a snapshot and a restart at every place do not show", r.Findings[0].Check)
		require.Contains(t, r.Findings[0].Hint, hint)
		require.Positive(t, r.NsPerRow)
	}
}
