package format

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

func whole(t require.TestingT, w Whole, object string, columns map[string]int64) string {
	b := batch.Get()
	b.N = 1
	c := b.AddColumn("_row")
	b.SetText(c, 0, batch.JSON, object)
	for _, name := range w.Set {
		c := b.AddColumn(name)
		if v, ok := columns[name]; ok {
			c.SetInt(0, v)
		} else {
			c.SetMissing(0)
		}
	}
	w.Column = "_row"
	f, err := NewWhole(Options{}, w)
	require.NoError(t, err)
	out, err := f.AppendRow(nil, b, 0)
	require.NoError(t, err)
	return string(out)
}

func TestWholeRecords(t *testing.T) {
	for _, c := range []struct {
		name, object string
		w            Whole
		set          map[string]int64
		want         string
	}{
		{"as it came", `{ "a" : 1, "b":[1, {"x":"}"}] }`, Whole{}, nil, `{ "a" : 1, "b":[1, {"x":"}"}] }`},
		{"on one line", "{\"a\":\r\n1}", Whole{}, nil, `{"a":  1}`},
		{"a member replaced in its place", `{"a":1,"b":2,"c":3}`, Whole{Set: []string{"b"}}, map[string]int64{"b": 9}, `{"a":1,"b":9,"c":3}`},
		{"a new one comes last", `{"a":1}`, Whole{Set: []string{"z"}}, map[string]int64{"z": 9}, `{"a":1,"z":9}`},
		{"a missing one goes", `{"a":1,"b":2}`, Whole{Set: []string{"b"}}, nil, `{"a":1}`},
		{"taken out", `{"a":{"b":",}"},"c":"\"}","d":2}`, Whole{Drop: []string{"a", "d"}}, nil, `{"c":"\"}"}`},
		{"a name with an escape", `{"a":1,"b":2}`, Whole{Drop: []string{"a"}}, nil, `{"b":2}`},
		{"twice the same name", `{"a":1,"a":2}`, Whole{Set: []string{"a"}}, map[string]int64{"a": 3}, `{"a":3}`},
		{"empty", ` { } `, Whole{Set: []string{"a"}}, map[string]int64{"a": 3}, `{"a":3}`},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, whole(t, c.w, c.object, c.set)) })
	}
}

// A record that is no object has no fields to change: it is refused, and not silently made into one without its own value.
func TestARecordThatIsNoObjectTakesNoChanges(t *testing.T) {
	f, err := NewWhole(Options{}, Whole{Column: "_row", Set: []string{"a"}})
	require.NoError(t, err)
	in, out := batch.Get(), batch.Get()
	in.AddColumn("_row")
	in.AddColumn("a")
	texts := []string{`[1,2]`, `{"b":1}`, `42`, ` "a" `, `null`}
	in.Grow(len(texts))
	for i, text := range texts {
		in.SetText(&in.Columns[0], i, batch.JSON, text)
		in.Columns[1].SetInt(i, 3)
	}
	bad := f.Append(out, in)
	require.Equal(t, 1, out.N)
	require.Equal(t, `{"b":1,"a":3}`, string(out.Row(0)))
	var rows []uint32
	for _, r := range bad {
		require.Equal(t, "not_an_object", r.Code)
		rows = append(rows, r.Row)
	}
	require.Equal(t, []uint32{0, 2, 3, 4}, rows)
}

func TestChangedRecordsAreThoseOfAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.IntRange(-5, 5), func(i int) any { return float64(i) }), rapid.Map(rapid.SliceOfN(rapid.String(), 0, 3), func(s []string) any {
				out := []any{}
				for _, e := range s {
					out = append(out, map[string]any{e: e})
				}
				return out
			}))
		names := rapid.SampledFrom([]string{"a", "b", "c", "d\"", `e\`, "f,}", "ü"})
		record := rapid.MapOfN(names, value, 0, 6).Draw(t, "record")
		set := rapid.MapOfN(names, rapid.Int64Range(-9, 9), 0, 3).Draw(t, "set")
		drop := rapid.SliceOfN(names, 0, 3).Draw(t, "drop")
		text, err := json.Marshal(record)
		require.NoError(t, err)
		w := Whole{Drop: drop}
		for name := range set {
			w.Set = append(w.Set, name)
		}
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(whole(t, w, string(text), set)), &got))
		want := map[string]any{}
		for k, v := range record {
			want[k] = v
		}
		for _, k := range drop {
			delete(want, k)
		}
		for k, v := range set {
			want[k] = float64(v)
		}
		require.Equal(t, want, got)
	})
}
