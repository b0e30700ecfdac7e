package checkpoint

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed is a store of which only the keys of one operator are seen.
type listed struct {
	Reader
	keys []listedKey
}

type listedKey struct {
	time int64
	key  string
}

func (l listed) VisitKeys(_ uint32, visit func(int64, uint64, []byte) error) error {
	for _, k := range l.keys {
		if err := visit(k.time, 0, []byte(k.key)); err != nil {
			return err
		}
	}
	return nil
}

// Sessions and global windows are kept by key, beside an index and a note of what it depends on, which are no windows.
func TestOpenWindowsCountsKeysAndNotTheirIndex(t *testing.T) {
	st := &State{Components: map[string]Component{"per_user": {Kind: StageComponent}, "in": {Kind: SourceComponent}}}
	rows, err := OpenWindows(listed{keys: []listedKey{
		{math.MinInt64, "\x06ada"}, {math.MinInt64, "\x06bob"}, {math.MinInt64 + 1, "\xfd"}, {1000, "\xfe\x06ada"}, {2000, "\xfe\x06bob"},
	}}, st, func() error { return nil })
	require.NoError(t, err)
	require.Equal(t, []OpenWindow{{Step: "per_user", Start: "each key's own", Keys: 2}}, rows)

	rows, err = OpenWindows(listed{keys: []listedKey{{1000, "\x06ada"}, {1000, "\x06bob"}, {2000, "\x06ada"}}}, st, func() error { return nil })
	require.NoError(t, err)
	require.Equal(t, []OpenWindow{
		{Step: "per_user", Start: "1970-01-01T00:00:01.000Z", Keys: 2}, {Step: "per_user", Start: "1970-01-01T00:00:02.000Z", Keys: 1},
	}, rows)
}
