package keys

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var times = rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5, 5), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
var hashes = rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 3), rapid.SampledFrom([]uint64{math.MaxUint64}))
var operators = rapid.OneOf(rapid.Uint32(), rapid.Uint32Range(0, 3), rapid.SampledFrom([]uint32{math.MaxUint32}))

func drawEntry(t *rapid.T, label string) Entry {
	return Entry{
		Operator: operators.Draw(t, label+" operator"),
		Time:     times.Draw(t, label+" time"),
		Hash:     hashes.Draw(t, label+" hash"),
		Key:      rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(t, label+" key"),
	}
}

func (e Entry) encode() []byte { return AppendState(nil, e.Operator, e.Time, e.Hash, e.Key) }

// less is the order that the layout promises, written down field by field.
func less(a, b Entry) bool {
	switch {
	case a.Operator != b.Operator:
		return a.Operator < b.Operator
	case a.Time != b.Time:
		return a.Time < b.Time
	case a.Hash != b.Hash:
		return a.Hash < b.Hash
	}
	return bytes.Compare(a.Key, b.Key) < 0
}

func TestStateKeysComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntry(t, "a")
		got, err := DecodeState(e.encode())
		require.NoError(t, err)
		require.Equal(t, e.Operator, got.Operator)
		require.Equal(t, e.Time, got.Time)
		require.Equal(t, e.Hash, got.Hash)
		require.True(t, bytes.Equal(e.Key, got.Key))
		require.Equal(t, e.Operator, Operator(e.encode()))
	})
}

func TestStateKeysSortByOperatorTimeHashKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawEntry(t, "a"), drawEntry(t, "b")
		require.Equal(t, less(a, b), bytes.Compare(a.encode(), b.encode()) < 0)
	})
}

func TestPaneBoundsHoldThePaneAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntry(t, "entry")
		operator, time := operators.Draw(t, "operator"), times.Draw(t, "time")
		first, last := hashes.Draw(t, "first"), hashes.Draw(t, "last")
		if first > last {
			first, last = last, first
		}
		start, end := PaneBounds(operator, time, Hashes{first, last})
		in := e.Operator == operator && e.Time == time && first <= e.Hash && e.Hash <= last
		k := e.encode()
		require.Equal(t, in, bytes.Compare(start, k) <= 0 && bytes.Compare(k, end) < 0)
	})
}

func TestOperatorBoundsHoldTheOperatorAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, operator := drawEntry(t, "entry"), operators.Draw(t, "operator")
		start, end := OperatorBounds(operator)
		k := e.encode()
		require.Equal(t, e.Operator == operator, bytes.Compare(start, k) <= 0 && bytes.Compare(k, end) < 0)
	})
}

func TestTheWholeStoreLiesWithinBounds(t *testing.T) {
	start, end := Bounds()
	for _, k := range [][]byte{
		AppendMeta(nil, nil),
		AppendMeta(nil, []byte{0xff, 0xff}),
		Entry{Key: nil, Time: math.MinInt64}.encode(),
		Entry{math.MaxUint32, math.MaxInt64, math.MaxUint64, []byte{0xff}}.encode(),
	} {
		require.True(t, bytes.Compare(start, k) <= 0 && bytes.Compare(k, end) < 0, "%x", k)
	}
}

func TestNames(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab.é\x00\x01")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		n, m := rapid.Uint64().Draw(t, "n"), rapid.Uint64().Draw(t, "m")
		x, y := Name(nil).Text(a).Number(n), Name(nil).Text(b).Number(m)
		want := a < b || a == b && n < m
		require.Equal(t, want, bytes.Compare(x, y) < 0)

		r := ReadName(x)
		require.Equal(t, a, r.Text())
		require.Equal(t, n, r.Number())
		require.NoError(t, r.End())
	})
}

func TestDamagedNamesAreTold(t *testing.T) {
	for name, damaged := range map[string][]byte{
		"text without its end": []byte("abc"),
		"number cut short":     []byte("a\x00\x01\x01\x02"),
		"bytes left over":      append(Name(nil).Text("a").Number(1), 7),
		"a stray zero byte":    []byte("a\x00\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"),
	} {
		r := ReadName(damaged)
		r.Text()
		r.Number()
		require.Error(t, r.End(), name)
	}
}

func TestMetaBoundsFollowThePrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xfe, 0xff}), 0, 4)
		prefix, name := b.Draw(t, "prefix"), b.Draw(t, "name")
		start, end := MetaBounds(prefix)
		k := AppendMeta(nil, name)
		require.Equal(t, bytes.HasPrefix(name, prefix), bytes.Compare(start, k) <= 0 && bytes.Compare(k, end) < 0)
	})
}

func TestForeignKeysAreRefused(t *testing.T) {
	_, err := DecodeState(AppendMeta(nil, []byte("a name that is long enough")))
	require.Error(t, err)
	_, err = DecodeState([]byte{spaceState, 1, 2})
	require.Error(t, err)
	_, err = MetaName(Entry{}.encode())
	require.Error(t, err)
}

func TestRunsComeBeforeAllOtherNames(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab.é\x00\x01")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.Uint64().Draw(t, "n"), rapid.Uint64().Draw(t, "m")
		kind, whose := text.Draw(t, "kind"), text.Draw(t, "whose")
		k := AppendMeta(nil, Run(kind).Text(whose).Number(n))
		other := AppendMeta(nil, Name(nil).Text(text.Filter(func(s string) bool { return s != "" }).Draw(t, "name")))
		start, end := RunBounds()
		require.True(t, bytes.Compare(start, k) <= 0 && bytes.Compare(k, end) < 0)
		require.True(t, bytes.Compare(end, other) <= 0)
		require.Nil(t, RunOf(other))
		require.Nil(t, RunOf(Entry{}.encode()))
		require.Equal(t, RunOf(k), RunOf(AppendMeta(nil, Run(kind).Text(whose).Number(m))))
		require.Equal(t, AppendMeta(nil, Run(kind).Text(whose)), RunOf(k))
	})
}
