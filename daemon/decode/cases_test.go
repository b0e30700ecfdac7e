package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// The cases are small files of dirty input, of the kinds that people have met in practice, with the counts that are right: how
// many rows each key has in each tumbling window, and how many rows are refused.

// countRow is one expected or actual result.
type countRow struct {
	Key   any   `json:"key"`
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	Count int   `json:"count"`
}

func (r countRow) String() string {
	return fmt.Sprintf("%v [%d,%d) %d", r.Key, r.Start, r.End, r.Count)
}

func caseFile(t *testing.T, name, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cases", name, file))
	require.NoError(t, err)
	return data
}

func expectedCounts(t *testing.T, name, file string) (rows []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(caseFile(t, name, file)))
	for d.More() {
		var r countRow
		require.NoError(t, d.Decode(&r))
		rows = append(rows, r.String())
	}
	slices.Sort(rows)
	return rows
}

// cutLines cuts a file into rows as a line source does; with a quote, as a source of csv records does.
func cutLines(data []byte, quote byte) (rows [][]byte) {
	start, open := 0, false
	for i, c := range data {
		switch {
		case c == quote && quote != 0:
			open = !open
		case c == '\n' && !open:
			rows = append(rows, data[start:i])
			start = i + 1
		}
	}
	if start < len(data) {
		rows = append(rows, data[start:])
	}
	return rows
}

// story runs rows through a decoder and Timestamps, cut into batches of several sizes, and counts.
type story struct {
	spec    Spec
	time    string // column of the event time
	unit    string
	options TimeOptions
	key     string // column of the key; empty counts all rows under constant
	static  string
	size    int64 // of the windows, ms
	refused []string
}

func (s story) run(t *testing.T, files [][]byte, quote byte, size int) (counts []string, refused []string, whole []string, notices []Notice) {
	t.Helper()
	d, errs := New(s.spec)
	require.NoError(t, errs.Err())
	var times *Timestamps
	if s.time != "" {
		var err error
		times, err = NewTimestamps(s.unit, s.options)
		require.NoError(t, err)
	}
	headers := NewHeaders(s.spec)
	found := map[string]countRow{}
	for partition, data := range files {
		rows := cutLines(data, quote)
		for at := 0; at < len(rows); at += size {
			b := batchOf(rows[at:min(at+size, len(rows))], 1)
			b.Partition, b.Base = uint32(partition), int64(at)
			if headers != nil {
				headers.Attach(b)
			}
			d.Decode(b)
			out := make([]int64, b.N)
			if times != nil {
				times.Column(b, b.Column(s.time), out)
			}
			for _, r := range b.Bad {
				refused = append(refused, fmt.Sprintf("%d %s", at+int(r.Row)+1, r.Code))
			}
			for k := range b.Alive() {
				i := k
				if b.Sel != nil {
					i = int(b.Sel[k])
				}
				if w := b.Column(WholeColumn); w != nil {
					whole = append(whole, string(b.Text(w.Bits[i])))
				}
				if times == nil {
					continue
				}
				key := any(s.static)
				if s.key != "" {
					key = string(cellText(b, b.Column(s.key), i))
				}
				start := floorDiv(out[i], s.size) * s.size
				r := countRow{key, start, start + s.size, 0}
				id := r.String()
				r.Count = found[id].Count + 1
				found[id] = r
			}
			notices = append(notices, d.Notices()...)
			if times != nil {
				for n, ok := times.Notice(); ok; n, ok = times.Notice() {
					notices = append(notices, n)
				}
			}
			b.Release()
		}
	}
	for _, r := range found {
		counts = append(counts, r.String())
	}
	slices.Sort(counts)
	return counts, refused, whole, notices
}

// check compares with the expected counts, whatever the size of the batches.
func (s story) check(t *testing.T, name, input, expect string, quote byte) (notices []Notice) {
	t.Helper()
	for _, size := range []int{1, 2, 3, 1000} {
		var counts, refused []string
		counts, refused, _, notices = s.run(t, [][]byte{caseFile(t, name, input)}, quote, size)
		require.Equal(t, expectedCounts(t, name, expect), counts, "batches of %d", size)
		require.Equal(t, s.refused, refused, "batches of %d", size)
	}
	return notices
}

func declared(t *testing.T, fields ...string) (all []Declared) {
	t.Helper()
	for _, f := range fields {
		d, err := ParseDeclared(f)
		require.NoError(t, err)
		all = append(all, d)
	}
	return all
}

func fields(names ...string) (all []Field) {
	for _, n := range names {
		all = append(all, Field{Name: n})
	}
	return all
}

func loadZone(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	require.NoError(t, err)
	return l
}

func TestSecondsTakenForMilliseconds(t *testing.T) {
	s := story{spec: Spec{Format: FormatCSV, Header: true, Fields: fields("t", "user")}, time: "t", unit: "s", key: "user", size: 10000}
	require.Empty(t, s.check(t, "seconds-taken-for-milliseconds", "input.csv", "expect.jsonl", 0))
	s.unit = "ms"
	notices := s.check(t, "seconds-taken-for-milliseconds", "input.csv", "expect-wrong-unit.jsonl", 0)
	require.Len(t, notices, 1, "told once")
	require.Equal(t, NoticeImplausible, notices[0].Code)
	require.Equal(t, `unit = "ms" makes 1970-01-20T16:13:20Z of 1700000000; with unit = "s" it would be 2023-11-14T22:13:20Z`, notices[0].Message)
}

func TestZoneAbbreviations(t *testing.T) {
	spec := Spec{Format: FormatRegex, Pattern: `(?P<time>\S+ \S+ \S+) INFO line (?P<line>\d+)`, Fields: fields("time", "line")}
	read := func(o TimeOptions) (ms []int64, refused []string) {
		d, errs := New(spec)
		require.NoError(t, errs.Err())
		ts, err := NewTimestamps("2006-01-02 15:04:05 MST", o)
		require.NoError(t, err)
		b := batchOf(cutLines(caseFile(t, "zone-abbreviation", "input.log"), 0), 1)
		d.Decode(b)
		out := make([]int64, b.N)
		ts.Column(b, b.Column("time"), out)
		for _, r := range b.Bad {
			refused = append(refused, fmt.Sprintf("%d %s", r.Row+1, r.Message))
		}
		return out, refused
	}
	ms, refused := read(TimeOptions{Location: loadZone(t, "Europe/Paris")})
	require.Equal(t, []int64{1704592800000, 1720314000000, 1720321200000, batch.NoTimestamp}, ms)
	require.Equal(t, []string{`4 time field "time": "2024-07-07 03:00:00 XQT" is not a time of unit "2006-01-02 15:04:05 MST": ` +
		`zone XQT is not known; write zones = { XQT = "+01:00" } with its offset, or timezone = a zone that uses it`}, refused)

	_, refused = read(TimeOptions{})
	require.Len(t, refused, 3, "without a zone or a table, only UTC is known")

	ms, refused = read(TimeOptions{Zones: map[string]string{"CET": "+01:00", "CEST": "+02:00", "XQT": "-03:30"}})
	require.Empty(t, refused)
	require.Equal(t, []int64{1704592800000, 1720314000000, 1720321200000, 1720333800000}, ms)
}

func TestCommaBeforeTheMilliseconds(t *testing.T) {
	for _, layout := range []string{"2006-01-02 15:04:05.000", "2006-01-02 15:04:05", "2006-01-02 15:04:05,999", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%F %T,%L"} {
		s := story{spec: Spec{Format: FormatRegex, Pattern: `(?P<time>\S+ \S+) INFO (?P<app>\w+) line \d`, Fields: fields("time", "app")},
			time: "time", unit: layout, key: "app", size: 100, refused: []string{"6 bad_timestamp"}}
		s.check(t, "comma-before-the-milliseconds", "input.log", "expect.jsonl", 0)
	}
}

func TestLeapSecondIsTheNextSecond(t *testing.T) {
	s := story{spec: Spec{Format: FormatJSON, Fields: fields("time")}, time: "time", unit: "rfc3339", static: "l", size: 1000, refused: []string{"5 bad_timestamp"}}
	s.check(t, "leap-second", "input.jsonl", "expect-next-second.jsonl", 0)
}

func TestTimeMissingOrNull(t *testing.T) {
	s := story{spec: Spec{Format: FormatJSON, Fields: []Field{{Name: "ts", Type: TypeExact}, {Name: "k"}}}, time: "ts", unit: "ms", key: "k", size: 10000,
		refused: []string{"3 no_timestamp", "4 no_timestamp", "5 no_timestamp", "6 bad_timestamp", "7 bad_timestamp", "8 bad_timestamp"}}
	s.check(t, "time-missing-or-null", "input.jsonl", "expect.jsonl", 0)
}

func TestCSVWithByteOrderMark(t *testing.T) {
	s := story{spec: Spec{Format: FormatCSV, Header: true, Delimiter: ";", Fields: fields("time", "country")}, time: "time", unit: "rfc3339", key: "country", size: 10000}
	s.check(t, "csv-with-byte-order-mark", "input.csv", "expect.jsonl", 0)

	s.spec.Fields = fields("time", "nation")
	_, refused, _, notices := s.run(t, [][]byte{caseFile(t, "csv-with-byte-order-mark", "input.csv")}, 0, 2)
	require.Equal(t, []string{"2 no_column", "3 no_column", "4 no_column"}, refused)
	require.Equal(t, []Notice{{NoticeNoColumn, `the header has no column "nation"; it has time, country, city, users`, true}}, notices)
}

func TestCSVWithCRLF(t *testing.T) {
	s := story{spec: Spec{Format: FormatCSV, Header: true, Fields: fields("ts", "site")}, time: "ts", unit: "ms", key: "site", size: 10000}
	s.check(t, "csv-with-crlf", "input.csv", "expect.jsonl", 0)
}

func TestCSVWithLineBreaksInsideQuotes(t *testing.T) {
	s := story{spec: Spec{Format: FormatCSV, Header: true, Whole: true, Fields: fields("ts", "shop")}, time: "ts", unit: "ms", key: "shop", size: 10000}
	s.check(t, "csv-newline-inside-quotes", "input.csv", "expect.jsonl", '"')
	_, _, whole, _ := s.run(t, [][]byte{caseFile(t, "csv-newline-inside-quotes", "input.csv")}, '"', 2)
	sameObjects(t, caseFile(t, "csv-newline-inside-quotes", "expect-records.jsonl"), whole)

	// A source that can only cut lines gives broken records. They are refused, none is taken for a whole one.
	_, refused, _, _ := s.run(t, [][]byte{caseFile(t, "csv-newline-inside-quotes", "input.csv")}, 0, 100)
	require.Equal(t, []string{"3 malformed", "5 empty", "6 malformed", "4 bad_timestamp"}, refused)
}

// sameObjects compares records with the expected ones by the fields that these have.
func sameObjects(t *testing.T, want []byte, got []string) {
	t.Helper()
	wanted := cutLines(want, 0)
	require.Len(t, got, len(wanted))
	for i := range wanted {
		var w, g map[string]any
		require.NoError(t, json.Unmarshal(wanted[i], &w))
		require.NoError(t, json.Unmarshal([]byte(got[i]), &g), got[i])
		for name, v := range w {
			if name != "line" {
				require.Equal(t, v, g[name], "field %s of %s", name, got[i])
			}
		}
	}
}

func TestCSVHeaderAfterRotation(t *testing.T) {
	s := story{spec: Spec{Format: FormatCSV, Header: true, Fields: fields("ts", "a")}, time: "ts", unit: "ms", key: "a", size: 10000}
	one, two := caseFile(t, "csv-header-after-rotation", "input-1.csv"), caseFile(t, "csv-header-after-rotation", "input-2.csv")
	for _, size := range []int{1, 2, 100} {
		counts, refused, _, _ := s.run(t, [][]byte{one, two}, 0, size)
		require.Empty(t, refused)
		require.Equal(t, expectedCounts(t, "csv-header-after-rotation", "expect.jsonl"), counts)
	}
}

func TestTaxiRowsWithExtraColumns(t *testing.T) {
	const name = "taxi-rows-with-extra-columns"
	s := story{spec: Spec{Format: FormatCSV, Header: true, Fields: fields("pickup_datetime", "VendorID")}, time: "pickup_datetime", unit: "2006-01-02 15:04:05",
		options: TimeOptions{Location: loadZone(t, "America/New_York")}, key: "VendorID", size: 3600000}
	notices := s.check(t, name, "input.csv", "expect.jsonl", 0)
	require.Len(t, notices, 1)
	require.Equal(t, NoticeExtraColumns, notices[0].Code)

	s.options.Location = nil
	counts, _, _, _ := s.run(t, [][]byte{caseFile(t, name, "input.csv")}, 0, 10)
	require.Equal(t, strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(expectedCounts(t, name, "expect.jsonl")), "1427860800000,1427864400000", "1427846400000,1427850000000"),
		"1427864400000,1427868000000", "1427850000000,1427853600000"), fmt.Sprint(counts), "in UTC each start is 4 hours earlier")

	s.spec.Extra = "reject"
	_, refused, _, _ := s.run(t, [][]byte{caseFile(t, name, "input.csv")}, 0, 10)
	require.Equal(t, []string{"2 columns", "3 columns", "4 columns", "5 columns", "6 columns", "7 columns"}, refused)
}

func TestJSONIntegersAbove2ToThe53(t *testing.T) {
	s := story{spec: Spec{Format: FormatJSON, Whole: true, Fields: fields("id", "ts")}, time: "ts", unit: "ms", key: "id", size: 10000}
	s.check(t, "json-integers-above-2-to-the-53", "input.jsonl", "expect.jsonl", 0)
	input := caseFile(t, "json-integers-above-2-to-the-53", "input.jsonl")
	_, _, whole, _ := s.run(t, [][]byte{input}, 0, 3)
	require.Equal(t, strings.Split(strings.TrimSuffix(string(input), "\n"), "\n"), whole, "passed through as they came")

	s.spec.Fields[0].Type = TypeInt
	_, refused, _, _ := s.run(t, [][]byte{input}, 0, 3)
	require.Equal(t, []string{"3 type", "4 type", "7 type"}, refused, "what does not fit is refused, not rounded")
}

func TestJSONDuplicateNamesLastOneCounts(t *testing.T) {
	s := story{spec: Spec{Format: FormatJSON, Fields: fields("k", "ts", "status")}, time: "ts", unit: "ms", key: "k", size: 10000}
	s.check(t, "json-duplicate-names", "input.jsonl", "expect.jsonl", 0)
	d, _ := New(s.spec)
	b := batchOf(cutLines(caseFile(t, "json-duplicate-names", "input.jsonl"), 0), 1)
	d.Decode(b)
	require.Equal(t, []string{"400", "200", "-", "200"}, column(b, "status"))
}

// column shows the live cells of a column.
func column(b *batch.Batch, name string) (cells []string) {
	for k := range b.Alive() {
		i := k
		if b.Sel != nil {
			i = int(b.Sel[k])
		}
		cells = append(cells, show(b, b.Column(name), i))
	}
	return cells
}

func TestJSONNamesWithDots(t *testing.T) {
	d, errs := New(Spec{Format: FormatJSON, Whole: true, Fields: fields("a.b", `["a.b"]`)})
	require.NoError(t, errs.Err())
	input := cutLines(caseFile(t, "json-names-with-dots", "input.jsonl"), 0)
	b := batchOf(input, 1)
	d.Decode(b)
	nested, flat, whole := column(b, "a.b"), column(b, `["a.b"]`), b.Column(WholeColumn)
	for i, line := range cutLines(caseFile(t, "json-names-with-dots", "expect-keys.jsonl"), 0) {
		var want struct{ Nested, Flat *string }
		require.NoError(t, json.Unmarshal(line, &want))
		for _, c := range []struct {
			want *string
			got  string
		}{{want.Nested, nested[i]}, {want.Flat, flat[i]}} {
			if c.want == nil {
				require.Equal(t, "-", c.got)
			} else {
				require.Equal(t, fmt.Sprintf("%q", *c.want), c.got)
			}
		}
		require.Equal(t, string(input[i]), string(b.Text(whole.Bits[i])))
	}
}

func TestInvalidUTF8InALine(t *testing.T) {
	const name = "invalid-utf-8-in-a-line"
	s := story{spec: Spec{Format: FormatRegex, Pattern: `(?P<ts>\d+) (?P<key>\w+) (?P<rest>.*)`, Whole: true, InvalidUTF8: InvalidReplace, Fields: fields("ts", "key")},
		time: "ts", unit: "ms", key: "key", size: 10000}
	s.check(t, name, "input.log", "expect.jsonl", 0)
	_, _, whole, _ := s.run(t, [][]byte{caseFile(t, name, "input.log")}, 0, 2)
	require.Len(t, whole, 5)
	for i, row := range whole {
		require.True(t, json.Valid([]byte(row)), row)
		require.Equal(t, i == 0 || i == 1 || i == 3, strings.Contains(row, "\uFFFD"), row)
	}
	require.Contains(t, whole[2], `ü"`)

	s.spec.InvalidUTF8 = InvalidReject
	_, refused, _, _ := s.run(t, [][]byte{caseFile(t, name, "input.log")}, 0, 2)
	require.Equal(t, []string{"1 invalid_utf8", "2 invalid_utf8", "4 invalid_utf8"}, refused)
}

func TestLastLineWithoutLineEnd(t *testing.T) {
	s := story{spec: Spec{Format: FormatJSON, Fields: fields("k", "ts")}, time: "ts", unit: "ms", key: "k", size: 10000}
	s.check(t, "no-line-end-at-the-end", "input.jsonl", "expect.jsonl", 0)
}

func TestLogfmtCorners(t *testing.T) {
	s := story{spec: Spec{Format: FormatLogfmt, Whole: true, Fields: fields("ts", "level")}, time: "ts", unit: "ms", key: "level", size: 10000, refused: []string{"5 malformed"}}
	s.check(t, "logfmt-corners", "input.log", "expect.jsonl", 0)
	_, _, whole, _ := s.run(t, [][]byte{caseFile(t, "logfmt-corners", "input.log")}, 0, 4)
	sameObjects(t, caseFile(t, "logfmt-corners", "expect-records.jsonl"), whole)
	require.Contains(t, whole[3], `"flag":true`)
}

func TestAccessLogStrangeRequests(t *testing.T) {
	s := story{spec: Spec{Format: FormatCLF, Fields: fields("time", "status", "bytes", "user", "method", "path", "agent", "request")}, time: "time", unit: "ms", key: "status", size: 60000,
		refused: []string{"6 malformed"}}
	s.check(t, "access-log-strange-requests", "input.log", "expect.jsonl", 0)
	d, _ := New(s.spec)
	b := batchOf(cutLines(caseFile(t, "access-log-strange-requests", "input.log"), 0), 1)
	d.Decode(b)
	require.Equal(t, []string{`"2326"`, "null", `"0"`, `"226"`, `"698"`, "null"}, column(b, "bytes"))
	require.Equal(t, []string{"null", "null", `"first.last"`, "null", "null", "null"}, column(b, "user"))
	require.Equal(t, []string{`"GET"`, "null", `"POST"`, "null", `"GET"`, `"GET"`}, column(b, "method"))
	require.Equal(t, []string{`"/index.html"`, "null", `"/login"`, "null", `"/a?q=x:y%20\"z\""`, `"/"`}, column(b, "path"))
	require.Equal(t, []string{`"curl/8.0"`, "null", `"App (10\" tablet)"`, "null", `"curl/8.0"`, `"curl/8.0"`}, column(b, "agent"))
	require.Equal(t, `"\\x16\\x03\\x01\\x02"`, column(b, "request")[3])
}

func TestGPSSentences(t *testing.T) {
	// An expression puts date and time together; here the two groups stand in one column by a second pattern.
	input := caseFile(t, "gps-sentences", "input.log")
	d, errs := New(Spec{Format: FormatRegex, Pattern: `\$(?P<kind>GP...),(?:(?P<time>[0-9.]*),(?P<status>[AV]),(?:[^,]*,){6}(?P<date>\d*),.*|.*)`,
		Fields: fields("kind", "time", "status", "date")})
	require.NoError(t, errs.Err())
	ts, err := NewTimestamps("020106 150405.000", TimeOptions{})
	require.NoError(t, err)
	found, refused, filtered := map[string]int{}, 0, 0
	b := batchOf(cutLines(input, 0), 1)
	d.Decode(b)
	require.Empty(t, b.Bad)
	for i := range b.N {
		if string(cellText(b, b.Column("kind"), i)) != "GPRMC" {
			filtered++
			continue
		}
		ms, err := ts.Parse(string(cellText(b, b.Column("date"), i)) + " " + string(cellText(b, b.Column("time"), i)))
		if err != nil {
			refused++
			continue
		}
		start := floorDiv(ms, 60000) * 60000
		found[countRow{string(cellText(b, b.Column("status"), i)), start, start + 60000, 0}.String()]++
	}
	require.Equal(t, 2, refused)
	require.Equal(t, 1, filtered)
	var counts []string
	for k, n := range found {
		counts = append(counts, strings.TrimSuffix(k, "0")+fmt.Sprint(n))
	}
	slices.Sort(counts)
	require.Equal(t, expectedCounts(t, "gps-sentences", "expect.jsonl"), counts)
}

func TestGitHubArchiveHours(t *testing.T) {
	s := story{spec: Spec{Format: FormatJSON, Fields: fields("created_at", "type", "repo.name")}, time: "created_at", unit: "rfc3339", key: "type", size: 3600000}
	s.check(t, "github-archive-hours", "input.jsonl", "expect.jsonl", 0)
	s.key = "repo.name"
	counts, refused, _, _ := s.run(t, [][]byte{caseFile(t, "github-archive-hours", "input.jsonl")}, 0, 5)
	require.Empty(t, refused)
	require.NotEmpty(t, counts)
	for _, c := range counts {
		require.True(t, strings.HasPrefix(c, "org/repo"), c)
	}
}
