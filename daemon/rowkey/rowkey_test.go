package rowkey

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// cellsOf draws a batch with n columns of one row.
func cellsOf(t *rapid.T, n int) *batch.Batch {
	b := batch.Get()
	b.N = 1
	for i := range n {
		c := b.AddColumn(fmt.Sprint("f", i))
		switch rapid.SampledFrom([]batch.Kind{batch.Missing, batch.Null, batch.Bool, batch.Int, batch.Uint, batch.Float, batch.String, batch.JSON, batch.Time}).Draw(t, "kind") {
		case batch.Missing:
			c.SetMissing(0)
		case batch.Null:
			c.SetNull(0)
		case batch.Bool:
			c.SetBool(0, rapid.Bool().Draw(t, "bool"))
		case batch.Int:
			c.SetInt(0, rapid.Int64().Draw(t, "int"))
		case batch.Uint:
			c.Set(0, batch.Uint, rapid.Uint64Min(math.MaxInt64+1).Draw(t, "uint"))
		case batch.Float:
			c.SetFloat(0, rapid.Float64().Draw(t, "float"))
		case batch.String:
			b.SetText(c, 0, batch.String, rapid.String().Draw(t, "string"))
		case batch.JSON:
			b.SetText(c, 0, batch.JSON, "["+rapid.StringMatching("[0-9,]*").Draw(t, "json")+"]")
		case batch.Time:
			c.SetTime(0, rapid.Int64().Draw(t, "time"))
		}
	}
	return b
}

func fields(b *batch.Batch) (names []string) {
	for _, c := range b.Columns {
		names = append(names, c.Name)
	}
	return names
}

// cellText is a cell's canonical form for comparison.
func cellText(b *batch.Batch, c *batch.Column) string {
	kind, bits := cell(b, c, 0)
	if kind == batch.String || kind == batch.JSON {
		return fmt.Sprint(kind, string(b.Text(bits)))
	}
	return fmt.Sprint(kind, bits)
}

func TestAKeyDecodesToTheCellsItWasMadeOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := cellsOf(t, rapid.IntRange(1, 4).Draw(t, "fields"))
		var k Keys
		k.Compute(in, fields(in))
		out := batch.Get()
		out.N = 1
		for range in.Columns {
			out.AddColumn("x")
		}
		var cols []*batch.Column
		for i := range out.Columns {
			cols = append(cols, &out.Columns[i])
		}
		require.NoError(t, Decode(k.Tag[0], k.Bytes(0), out, cols, 0))
		for i := range in.Columns {
			require.Equal(t, cellText(in, &in.Columns[i]), cellText(out, cols[i]))
		}
		require.Equal(t, Hash(k.Tag[0], k.Bytes(0)), k.Hash[0])
	})
}

func TestKeysAreEqualExactlyWhenTheirCellsAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "fields")
		a, b := cellsOf(t, n), cellsOf(t, n)
		if rapid.Bool().Draw(t, "same") {
			b = a
		}
		var ka, kb Keys
		ka.Compute(a, fields(a))
		kb.Compute(b, fields(b))
		same := true
		for i := range a.Columns {
			same = same && cellText(a, &a.Columns[i]) == cellText(b, &b.Columns[i])
		}
		require.Equal(t, same, ka.Tag[0] == kb.Tag[0] && string(ka.Bytes(0)) == string(kb.Bytes(0)))
	})
}

func TestDamagedKeysAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out := batch.Get()
		out.N = 1
		out.AddColumn("a")
		out.AddColumn("b")
		// No panic, whatever comes.
		_ = Decode(rapid.Uint8().Draw(t, "tag"), rapid.SliceOf(rapid.Byte()).Draw(t, "payload"), out, []*batch.Column{&out.Columns[0], &out.Columns[1]}, 0)
	})
	out := batch.Get()
	out.N = 1
	out.AddColumn("a")
	require.Error(t, Decode(Composite, []byte{byte(batch.String), 200, 1, 'x'}, out, []*batch.Column{&out.Columns[0]}, 0))
	require.Error(t, Decode(uint8(batch.Int), []byte{1, 2}, out, []*batch.Column{&out.Columns[0]}, 0))
}

// The hashes of these keys are on disks: if this test fails, stored state can no longer be found.
func TestHashesNeverChange(t *testing.T) {
	b := batch.Get()
	b.N = 1
	s, i := b.AddColumn("s"), (*batch.Column)(nil)
	b.SetText(s, 0, batch.String, "user-00005191")
	i = b.AddColumn("i")
	i.SetInt(0, 42)
	var k Keys
	k.Compute(b, []string{"s"})
	one := k.Hash[0]
	k.Compute(b, []string{"i"})
	two := k.Hash[0]
	k.Compute(b, []string{"s", "i"})
	three := k.Hash[0]
	k.Compute(b, nil)
	require.Equal(t, []uint64{0x85337b28f1d42791, 0x355079998ae7a34a, 0x21d275936fdb2e17, 0x1dca9a93ff400151}, []uint64{one, two, three, k.Hash[0]})
}

func TestShardsOwnContiguousRangesThatCoverEverything(t *testing.T) {
	for n := 1; n <= 200; n++ {
		next := uint64(0)
		for i := range n {
			first, last, ok := Range(i, n)
			if !ok {
				continue
			}
			require.Equal(t, next, first)
			require.Equal(t, i, Shard(first, n))
			require.Equal(t, i, Shard(last, n))
			next = last + 1
		}
		require.Zero(t, next, "the last range ends at the top")
	}
}

// Numbers are one key when they are the same number, and then only.
func TestNumbersOfOneValueAreOneKey(t *testing.T) {
	key := func(set func(b *batch.Batch, c *batch.Column)) string {
		b := batch.Get()
		b.N = 1
		set(b, b.AddColumn("n"))
		var k Keys
		k.Compute(b, []string{"n"})
		return fmt.Sprint(k.Tag[0], k.Bytes(0), k.Hash[0])
	}
	whole := func(v int64) string { return key(func(_ *batch.Batch, c *batch.Column) { c.SetInt(0, v) }) }
	large := func(v uint64) string {
		return key(func(_ *batch.Batch, c *batch.Column) { c.Set(0, batch.Uint, v) })
	}
	float := func(v float64) string { return key(func(_ *batch.Batch, c *batch.Column) { c.SetFloat(0, v) }) }
	wide := func(text string) string {
		return key(func(b *batch.Batch, c *batch.Column) { b.SetText(c, 0, batch.JSON, text) })
	}
	require.Equal(t, whole(1), float(1))
	require.Equal(t, whole(0), float(math.Copysign(0, -1)))
	require.NotEqual(t, whole(1), float(1.5))
	require.Equal(t, whole(1e18), float(1e18))
	require.NotEqual(t, whole(1e18+1), float(1e18))
	require.Equal(t, whole(math.MinInt64), float(math.MinInt64))
	require.NotEqual(t, whole(math.MaxInt64), float(math.MaxInt64), "that float is one more")
	require.Equal(t, large(1<<63), float(1<<63))
	require.Equal(t, large(1e19), float(1e19))
	require.NotEqual(t, large(math.MaxUint64), float(math.MaxUint64), "that float is one more")
	require.Equal(t, wide("18446744073709551616"), float(1<<64))
	require.Equal(t, wide("100000000000000000000"), float(1e20))
	require.Equal(t, wide("-100000000000000000000"), float(-1e20))
	require.NotEqual(t, wide("100000000000000000001"), float(1e20))
	require.NotEqual(t, wide("100000000000000000001"), wide("100000000000000000002"))
	require.NotEqual(t, wide("[1000000000000000000]"), wide("1000000000000000000"))
	require.Equal(t, float(math.NaN()), float(math.Float64frombits(0x7ff8000000000123)))
}
