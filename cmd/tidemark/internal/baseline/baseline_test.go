package baseline_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/baseline"
)

// ev is an event of a made-up input.
type ev struct {
	key   string
	ts    int64
	cents int64
}

func text(events []ev) string {
	var b strings.Builder
	for i, e := range events {
		fmt.Fprintf(&b, "{\"key\":%q,\"ts\":%d,\"region\":\"eu\",\"type\":\"click\",\"value\":%d.%02d,\"seq\":%d}\n", e.key, e.ts, e.cents/100, e.cents%100, i)
	}
	return b.String()
}

// disordered draws events that are at most bound older than the newest one before them, so that none is late.
func disordered(t *rapid.T, bound int64) []ev {
	var out []ev
	now := int64(1_700_000_000_000)
	for range rapid.IntRange(0, 60).Draw(t, "events") {
		now += rapid.Int64Range(0, 2000).Draw(t, "step")
		out = append(out, ev{
			key:   rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
			ts:    now - rapid.Int64Range(0, bound).Draw(t, "behind"),
			cents: rapid.Int64Range(0, 99_999).Draw(t, "cents"),
		})
	}
	return out
}

func sorted(rows []baseline.Row) []string {
	var out []string
	for i := range rows {
		out = append(out, rows[i].String())
	}
	slices.Sort(out)
	return out
}

// byWindow is what the streaming programs must come to: everything at once, from a list.
func byWindow(events []ev, windows func(ts int64) [][2]int64) []string {
	type place struct {
		key        string
		start, end int64
	}
	rows := map[place]baseline.Row{}
	for _, e := range events {
		for _, w := range windows(e.ts) {
			at := place{e.key, w[0], w[1]}
			r, ok := rows[at]
			if !ok {
				r = baseline.Row{Key: e.key, Start: w[0], End: w[1], Min: e.cents, Max: e.cents}
			}
			r.N, r.Sum, r.Min, r.Max = r.N+1, r.Sum+e.cents, min(r.Min, e.cents), max(r.Max, e.cents)
			rows[at] = r
		}
	}
	return sorted(slices.Collect(maps.Values(rows)))
}

func TestTotalsAgainstAListOfEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := disordered(t, 3000)
		var got []baseline.Row
		require.NoError(t, baseline.Totals(strings.NewReader(text(events)), 5000, 3000, func(r baseline.Row) { got = append(got, r) }))
		require.Equal(t, byWindow(events, func(ts int64) [][2]int64 { s := ts - ts%5000; return [][2]int64{{s, s + 5000}} }), sorted(got))
	})
}

func TestSlidingAgainstAListOfEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := disordered(t, 3000)
		var got []baseline.Row
		require.NoError(t, baseline.Sliding(strings.NewReader(text(events)), 4000, 1000, func(r baseline.Row) { got = append(got, r) }))
		require.Equal(t, byWindow(events, func(ts int64) (w [][2]int64) {
			for s := ts - ts%1000; s > ts-4000; s -= 1000 {
				w = append(w, [2]int64{s, s + 4000})
			}
			return w
		}), sorted(got))
	})
}

// Without an event that just touches the end of a session, sessions do not depend on the watermark: they are the runs of a key's times
// with no gap between them.
func TestSessionsAgainstSortedTimes(t *testing.T) {
	const gap = 1500
	rapid.Check(t, func(t *rapid.T) {
		events := disordered(t, 3000)
		times := map[string][]int64{}
		for _, e := range events {
			times[e.key] = append(times[e.key], e.ts)
		}
		var want []baseline.Row
		for key, ts := range times {
			slices.Sort(ts)
			var s baseline.Row
			for i, at := range ts {
				if i > 0 && at == ts[i-1]+gap {
					t.Skip("touches")
				}
				if i > 0 && at < s.End {
					s.End, s.N = at+gap, s.N+1
					continue
				}
				if i > 0 {
					want = append(want, s)
				}
				s = baseline.Row{Key: key, Start: at, End: at + gap, N: 1}
			}
			want = append(want, s)
		}
		var got []baseline.Row
		require.NoError(t, baseline.Sessions(strings.NewReader(text(events)), gap, 3000, func(r baseline.Row) { got = append(got, r) }))
		require.Equal(t, sorted(want), sorted(got))
	})
}

func TestStatelessTakesWhatIsAbove500(t *testing.T) {
	var got []baseline.Row
	events := []ev{{"a", 1000, 500_00}, {"b", 2000, 500_01}, {"c", 3000, 9}}
	require.NoError(t, baseline.Stateless(strings.NewReader(text(events)), func(r baseline.Row) { got = append(got, r) }))
	require.Equal(t, []baseline.Row{{Key: "b", Start: 2000, End: 2000, N: 1, Sum: 50001, Min: 50001, Max: 50001}}, got)
}

func TestPairs(t *testing.T) {
	var got []baseline.Row
	require.NoError(t, baseline.Totals(strings.NewReader("a 1000\nb 2000\na 4999\na 5000\n"), 5000, 0, func(r baseline.Row) { r.Min, r.Max = 0, 0; got = append(got, r) }))
	require.Equal(t, sorted([]baseline.Row{{Key: "a", End: 5000, N: 2}, {Key: "b", End: 5000, N: 1}, {Key: "a", Start: 5000, End: 10000, N: 1}}), sorted(got))
}

func TestResultsAreReadBack(t *testing.T) {
	for line, want := range map[string]string{
		`{"key":"a","window_start":"2023-11-14T22:13:20.000Z","window_end":"2023-11-14T22:13:25.000Z","n":2,"sum":3.5,"min":1.25,"max":2.25}`: "a [22:13:20.000, 22:13:25.000) n=2 sum=3.50 min=1.25 max=2.25",
		`{"key":"a","ts":1700000000000,"value":500.01,"kind":"large"}`:                                                                        "a [22:13:20.000, 22:13:20.000) n=1 sum=500.01 min=500.01 max=500.01",
		`{"key":"a","n":7,"sum":1234567.8900000001}`:                                                                                          "a [00:00:00.000, 00:00:00.000) n=7 sum=1234567.89 min=0.00 max=0.00",
	} {
		require.NoError(t, baseline.ReadResults(strings.NewReader(line+"\n"), func(r *baseline.Row) error {
			require.Equal(t, want, r.String())
			return nil
		}))
	}
	for line, want := range map[string]string{
		`{"key":"a","sum":1.005}`: "no whole number of hundredths",
		`{"key":"a","n":x}`:       "invalid syntax",
		`{"key":"a`:               "not a JSON object",
		`{"key":"a}`:              "without an end",
	} {
		require.ErrorContains(t, baseline.ReadResults(strings.NewReader(line+"\n"), func(*baseline.Row) error { return nil }), want, line)
	}
}

// One wrong, missing, doubled or foreign row changes the digest, and Diff names it.
func TestAnyDifferenceIsFound(t *testing.T) {
	right := []baseline.Row{{Key: "a", End: 5, N: 1, Sum: 2}, {Key: "b", End: 5, N: 1}, {Key: "b", End: 10, N: 4}}
	digest := func(rows []baseline.Row) (d baseline.Digest) {
		for i := range rows {
			d.Add(&rows[i])
		}
		return d
	}
	list := func(rows []baseline.Row) func(func(*baseline.Row) error) error {
		return func(f func(*baseline.Row) error) error {
			for i := range rows {
				if err := f(&rows[i]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	turned := []baseline.Row{right[2], right[0], right[1]}
	require.Equal(t, digest(right), digest(turned))
	diff, err := baseline.Diff(list(right), list(turned), 5)
	require.NoError(t, err)
	require.Empty(t, diff)

	wrong := slices.Clone(right)
	wrong[0].Sum = 3
	for name, rows := range map[string][]baseline.Row{
		"expected":     wrong,
		"missing":      right[:2],
		"not expected": append(slices.Clone(right), right[0]),
	} {
		require.NotEqual(t, digest(right), digest(rows))
		diff, err := baseline.Diff(list(right), list(rows), 5)
		require.NoError(t, err)
		require.Len(t, diff, 1)
		require.Contains(t, diff[0], name)
	}
}
