package sdk

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// wholeRecord is a record as an assigner of Records gets it: its JSON object, and a column for what the pipeline reads.
func wholeRecord(t require.TestingT, object string) Record {
	b := batch.Get()
	b.N = 1
	ts := b.AddColumn("ts")
	ts.SetInt(0, 7)
	b.SetText(b.AddColumn(batch.WholeColumn), 0, batch.JSON, object)
	r := newRows[Record](&shape{record: true})
	r.open(b)
	record, ok := r.at(0)
	require.True(t, ok)
	return *record
}

func TestARecordHasFieldsThatThePipelineDoesNotRead(t *testing.T) {
	r := wholeRecord(t, ` { "kind" : "hb", "ts": "declared as a number", "user": {"name": "ann \"a\"", "tags": ["x", {"deep": [1, 2]}, null]}, "a.b": 1.50,
		"big": 18446744073709551615, "bigger": 184467440737095516150, "tiny": 1e-400, "zero": -0, "e": 1E3, "on": true, "off": false, "none": null,
		"twice": 1, "tw\u0069ce": [2], "empty": {}, "":3 } `)
	for name, want := range map[string]any{
		"kind": "hb", "ts": int64(7), "user.name": `ann "a"`, "user.tags[1].deep[1]": int64(2), `["a.b"]`: 1.5, `'a.b'`: 1.5, "a.b": 1.5,
		"big": uint64(18446744073709551615), "bigger": json.RawMessage("184467440737095516150"), "tiny": json.RawMessage("1e-400"), "e": 1000.0,
		"on": true, "off": false, "none": nil, "twice": json.RawMessage("[2]"), "twice[0]": int64(2), "twice[1]": nil, "empty": json.RawMessage("{}"),
		"user.tags[2]": nil, "user.tags.name": nil, "kind.x": nil, "nothing": nil, "user..name": nil, "user[": nil, `$env["a.b"]`: 1.5, "user.tags[7]": nil,
		`user["tags"][0]`: "x", `[""]`: int64(3),
	} {
		require.Equal(t, want, r.Value(name), name)
		require.Equal(t, want != nil, r.Has(name), name)
	}
	zero, ok := r.Float("zero")
	require.True(t, ok)
	require.Equal(t, "-0", fmt.Sprint(zero))
	_, ok = r.Int("kind")
	require.False(t, ok)
	on, ok := r.Bool("on")
	require.True(t, on && ok)
	text, ok := r.Text("user.name")
	require.True(t, ok)
	require.Equal(t, `ann "a"`, text)
	require.Equal(t, []string{"kind", "ts", "user", "a.b", "big", "bigger", "tiny", "zero", "e", "on", "off", "none", "twice", "empty", ""}, r.Names())
}

func TestARecordThatIsNoObjectHasColumnsOnly(t *testing.T) {
	for _, text := range []string{`[{"kind":1}]`, `"kind"`, `12`, `{}`, ` { } `} {
		r := wholeRecord(t, text)
		require.Nil(t, r.Value("kind"), text)
		require.Equal(t, []string{"ts"}, r.Names(), text)
		n, ok := r.Int("ts")
		require.True(t, ok)
		require.EqualValues(t, 7, n)
	}
}

// Whatever JSON a record is, its fields are those that encoding/json finds.
func TestFieldsOfARecordAreThoseOfEncodingJSON(t *testing.T) {
	var value *rapid.Generator[any]
	name := rapid.StringOf(rapid.RuneFrom([]rune("ab\"\\ {}[],:\n日")))
	value = rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return rapid.Int64().Draw(t, "int")
		case 1:
			return rapid.Float64Range(-1e15, 1e15).Draw(t, "float") // beyond 64 bits a whole number is no float but a text
		case 2:
			return name.Draw(t, "text")
		case 3:
			return rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value }), 0, 3).Draw(t, "list")
		case 4:
			return rapid.MapOfN(name, rapid.Deferred(func() *rapid.Generator[any] { return value }), 0, 3).Draw(t, "object")
		case 5:
			return rapid.Bool().Draw(t, "bool")
		}
		return nil
	})
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.MapOfN(name, value, 0, 6).Draw(t, "record")
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "spaced") {
			text, err = json.MarshalIndent(fields, " ", "\t")
			require.NoError(t, err)
		}
		r := wholeRecord(t, string(text))
		for key, want := range fields {
			quoted := `["` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"]`
			got := r.Value(quoted)
			switch want := want.(type) {
			case float64:
				n, ok := r.Float(quoted)
				require.True(t, ok, "%s in %s", quoted, text)
				require.Equal(t, want, n)
			case []any, map[string]any:
				whole, err := json.Marshal(want)
				require.NoError(t, err)
				require.JSONEq(t, string(whole), string(got.(json.RawMessage)))
			default:
				require.Equal(t, want, got, "%s in %s", quoted, text)
			}
		}
	})
}

// What it costs to look fields up in whole records, beside having them as columns.
func BenchmarkRecord(b *testing.B) {
	const object = `{"key":"user-00001234","ts":1700000000000,"region":"eu-west-1","type":"login","value":88.04,"seq":10000001}`
	for _, c := range []struct{ name, field string }{{"column", "ts"}, {"whole", "seq"}} {
		b.Run(c.name, func(b *testing.B) {
			const n = 1000
			in := batch.Get()
			in.N = n
			ts, text := in.AddColumn("ts"), 0
			for i := range n {
				ts.SetInt(i, 7)
			}
			in.AddColumn(batch.WholeColumn)
			in.Extra = append(in.Extra, object...)
			for i := range n {
				in.Column(batch.WholeColumn).Set(i, batch.JSON, batch.ExtraRef(text, len(object)))
			}
			r := newRows[Record](&shape{record: true})
			b.ReportAllocs()
			for b.Loop() {
				r.open(in)
				for i := range n {
					record, _ := r.at(i)
					if _, ok := record.Int(c.field); !ok {
						b.Fatal("not found")
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
		})
	}
}
