package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row is a row's values: nil, int, uint64, float64, bool, string, json.RawMessage, ms.
type row []any
type ms int64

func rows(columns string, all ...row) *batch.Batch {
	b := batch.Get()
	b.Grow(len(all))
	for i, name := range strings.Fields(columns) {
		c := b.AddColumn(name)
		for r, values := range all {
			switch v := values[i].(type) {
			case nil:
				c.SetNull(r)
			case int:
				c.SetInt(r, int64(v))
			case uint64:
				c.SetUint(r, v)
			case float64:
				c.SetFloat(r, v)
			case bool:
				c.SetBool(r, v)
			case string:
				b.SetText(c, r, batch.String, v)
			case json.RawMessage:
				b.SetText(c, r, batch.JSON, string(v))
			case ms:
				c.SetTime(r, int64(v))
			}
		}
	}
	return b
}

func open(t *testing.T, d *database, store string, options map[string]any) wire.Sink {
	options["url"] = d.url
	raw, err := json.Marshal(options)
	require.NoError(t, err)
	s, err := Plugin().OpenSink(wire.SinkOpen{Options: raw, Place: wire.Place{Pipeline: "p", Component: fmt.Sprint(options["table"]), Store: store}}, wire.Runtime{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func write(t *testing.T, s wire.Sink, first uint64, b *batch.Batch) {
	require.NoError(t, s.Write(context.Background(), first, b))
}

// refused is what a delivery says of refused rows: "row: message".
func refused(t *testing.T, err error) (out []string) {
	var e *wire.SinkError
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Refused, e.Message)
	for _, r := range e.Refused {
		out = append(out, fmt.Sprintf("%d: %s", r.Row, r.Message))
	}
	return out
}

func last(t *testing.T, s wire.Sink) uint64 {
	n, known, err := s.LastDelivered(context.Background())
	require.NoError(t, err)
	require.True(t, known)
	return n
}

// The server takes seconds to make, so one serves all tests; each has tables of its own.
func TestSink(t *testing.T) {
	d := startDatabase(t)
	for name, test := range map[string]func(*testing.T, *database){
		"sinks that begin at the same time":              together,
		"rows stand in the table once":                   onceOnly,
		"every type":                                     everyType,
		"rows that the server never takes":               refusedRows,
		"rows that nobody names":                         unnamedRows,
		"a key replaces":                                 upsert,
		"the character NUL":                              nul,
		"a table that is not there, or lacks a column":   wrongTable,
		"the server goes away and comes back":            restart,
		"a transaction that went through unacknowledged": unacknowledged,
	} {
		t.Run(name, func(t *testing.T) { test(t, d) })
	}
}

// together: none of them finds the table for the books, so all make it.
func together(t *testing.T, d *database) {
	d.query(`CREATE TABLE together (n bigint)`)
	for range 10 {
		d.query(`DROP TABLE IF EXISTS tidemark_delivered`)
		var sinks []wire.Sink
		for i := range 8 {
			sinks = append(sinks, open(t, d, fmt.Sprint("together", i), map[string]any{"table": "together"}))
		}
		var g errgroup.Group
		for _, s := range sinks {
			g.Go(func() error {
				_, _, err := s.LastDelivered(context.Background())
				return err
			})
		}
		require.NoError(t, g.Wait())
		for _, s := range sinks {
			require.NoError(t, s.Close())
		}
	}
}

func onceOnly(t *testing.T, d *database) {
	d.query(`CREATE TABLE once (n bigint)`)
	s := open(t, d, "s1", map[string]any{"table": "once"})
	require.Equal(t, uint64(0), last(t, s))
	write(t, s, 1, rows("n", row{1}, row{2}))
	write(t, s, 1, rows("n", row{1}, row{2}))
	write(t, s, 2, rows("n", row{2}, row{3}))
	require.NoError(t, s.Close())
	s = open(t, d, "s1", map[string]any{"table": "once"})
	require.Equal(t, uint64(3), last(t, s), "after a restart")
	require.Equal(t, [][]string{{"1"}, {"2"}, {"3"}}, d.query(`SELECT n FROM once ORDER BY n`))

	other := open(t, d, "s2", map[string]any{"table": "once"})
	require.Equal(t, uint64(0), last(t, other), "another store counts for itself")
	write(t, other, 1, rows("n", row{4}))
	require.Equal(t, uint64(3), last(t, s))
}

func everyType(t *testing.T, d *database) {
	d.query(`CREATE TABLE types (i int, big numeric, f float8, b bool, s text, j jsonb, at timestamptz, epoch bigint, day date, tags text[], "odd name" text)`)
	s := open(t, d, "s1", map[string]any{"table": "types"})
	b := rows("i big f b s j at epoch day tags",
		row{1, uint64(math.MaxUint64), 0.1, true, "a\tb\\c\nd\r", json.RawMessage(`{"x": [1]}`), ms(1), ms(1_700_000_000_123), "2026-01-02", `{a,"b c"}`},
		row{nil, 5, math.Inf(1), nil, `\N`, "a \"text\"", ms(-62_135_596_800_001), nil, nil, nil},
		row{7, nil, math.NaN(), false, "", nil, ms(batch.EndOfInput), nil, nil, nil})
	write(t, s, 1, b)
	require.Equal(t, [][]string{
		{"1", "18446744073709551615", "0.1", "t", "a\tb\\c\nd\r", `{"x": [1]}`, "1970-01-01 00:00:00.001+00", "1700000000123", "2026-01-02", `{a,"b c"}`},
		{"NULL", "5", "Infinity", "NULL", `\N`, `"a \"text\""`, "0001-12-31 23:59:59.999+00 BC", "NULL", "NULL", "NULL"},
		{"7", "NULL", "NaN", "f", "", "NULL", "NULL", "NULL", "NULL", "NULL"},
	}, d.query(`SELECT i, big, f, b, s, j, at, epoch, day, tags FROM types`))
}

func refusedRows(t *testing.T, d *database) {
	d.query(`CREATE TABLE checked (id int CHECK (id <> 500), s text NOT NULL)`)
	s := open(t, d, "s1", map[string]any{"table": "public.checked"})
	err := s.Write(context.Background(), 1, rows("id s", row{1, "a"}, row{500, "b"}, row{3, "c"}, row{"x", "d"}, row{5, nil}, row{6, "f"}))
	messages := refused(t, err)
	require.Len(t, messages, 3)
	require.Contains(t, messages[0], `1: new row for relation "checked" violates check constraint`)
	require.Contains(t, messages[0], "SQLSTATE 23514")
	require.Contains(t, messages[1], `3: invalid input syntax for type integer: "x"`)
	require.Contains(t, messages[2], `4: null value in column "s"`)
	require.Equal(t, [][]string{{"1"}, {"3"}, {"6"}}, d.query(`SELECT id FROM checked ORDER BY id`))
	require.Equal(t, uint64(6), last(t, s))

	// When all of several are refused nothing is done: they come again in halves, down to single rows.
	err = s.Write(context.Background(), 7, rows("id s", row{500, "a"}, row{500, "b"}))
	require.Len(t, refused(t, err), 2)
	require.Equal(t, uint64(6), last(t, s))
	require.Len(t, refused(t, s.Write(context.Background(), 7, rows("id s", row{500, "a"}))), 1)
	require.Equal(t, uint64(7), last(t, s), "a single refused row is done with")
}

func unnamedRows(t *testing.T, d *database) {
	d.query(`CREATE TABLE deferred (id int, UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)`)
	s := open(t, d, "s1", map[string]any{"table": "deferred"})
	err := s.Write(context.Background(), 1, rows("id", row{1}, row{2}, row{1}))
	require.Len(t, refused(t, err), 3, "halves will tell")
	write(t, s, 1, rows("id", row{1}))
	write(t, s, 2, rows("id", row{2}))
	require.Len(t, refused(t, s.Write(context.Background(), 3, rows("id", row{1}))), 1)
	require.Equal(t, [][]string{{"1"}, {"2"}}, d.query(`SELECT id FROM deferred ORDER BY id`))
}

func upsert(t *testing.T, d *database) {
	d.query(`CREATE TABLE totals (page text, hour int, n int CHECK (n < 100), PRIMARY KEY (page, hour))`)
	s := open(t, d, "s1", map[string]any{"table": "totals", "key": []string{"page", "hour"}})
	write(t, s, 1, rows("page hour n", row{"a", 1, 1}, row{"b", 1, 1}, row{"a", 1, 2}))
	write(t, s, 4, rows("page hour n", row{"a", 1, 3}, row{"a", 2, 9}))
	require.Len(t, refused(t, s.Write(context.Background(), 6, rows("page hour n", row{"b", 1, 2}, row{"c", 1, 100}))), 1)
	require.Equal(t, [][]string{{"a", "1", "3"}, {"a", "2", "9"}, {"b", "1", "2"}}, d.query(`SELECT * FROM totals ORDER BY 1, 2`))
}

func nul(t *testing.T, d *database) {
	all := rows("id k msg raw",
		row{1, "a", "plain", json.RawMessage(`{}`)},
		row{2, "a", "zero\x00inside", json.RawMessage(`{"m": "zero\u0000inside"}`)},
		row{3, "b\x00", "x", json.RawMessage(`"\\u0000 \\\u0000"`)},
		row{4, "a", "x", json.RawMessage(`"\\u0000"`)})
	for rule, want := range map[string][][]string{
		"reject":  {{"1", "a", "plain", "{}"}, {"4", "a", "x", `"\\u0000"`}},
		"remove":  {{"1", "a", "plain", "{}"}, {"2", "a", "zeroinside", `{"m": "zeroinside"}`}, {"3", "b", "x", `"\\u0000 \\"`}, {"4", "a", "x", `"\\u0000"`}},
		"replace": {{"1", "a", "plain", "{}"}, {"2", "a", "zero\ufffdinside", "{\"m\": \"zero\ufffdinside\"}"}, {"3", "b\ufffd", "x", "\"\\\\u0000 \\\\\ufffd\""}, {"4", "a", "x", `"\\u0000"`}},
	} {
		d.query(`CREATE TABLE nul_` + rule + ` (id int, k text, msg text, raw jsonb)`)
		s := open(t, d, "s1", map[string]any{"table": "nul_" + rule, "nul": rule})
		err := s.Write(context.Background(), 1, all)
		if rule == "reject" {
			require.Len(t, refused(t, err), 2)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, want, d.query(`SELECT * FROM nul_`+rule+` ORDER BY id`))
	}
}

func wrongTable(t *testing.T, d *database) {
	s := open(t, d, "s1", map[string]any{"table": "nothing"})
	_, _, err := s.LastDelivered(context.Background())
	require.ErrorContains(t, err, `relation "nothing" does not exist`)
	d.query(`CREATE TABLE narrow (a int)`)
	s = open(t, d, "s1", map[string]any{"table": "narrow"})
	err = s.Write(context.Background(), 1, rows("a b", row{1, 2}))
	require.ErrorContains(t, err, "table narrow has no column for b; add it, or name the fields to write with columns")
	var e *wire.SinkError
	require.True(t, errors.As(err, &e) && e.Permanent)
	s = open(t, d, "s1", map[string]any{"table": "narrow", "key": []string{"z"}})
	require.ErrorContains(t, s.Write(context.Background(), 1, rows("a", row{1})), "no column z, which key names")
}

func restart(t *testing.T, d *database) {
	d.query(`CREATE TABLE again (n bigint)`)
	s := open(t, d, "s1", map[string]any{"table": "again"})
	write(t, s, 1, rows("n", row{1}))
	d.Stop()
	err := s.Write(context.Background(), 2, rows("n", row{2}))
	var e *wire.SinkError
	require.ErrorAs(t, err, &e)
	require.False(t, e.Permanent)
	require.Empty(t, e.Refused)
	d.Begin()
	write(t, s, 2, rows("n", row{2}))
	require.Equal(t, [][]string{{"1"}, {"2"}}, d.query(`SELECT n FROM again ORDER BY n`))
}

// The connection breaks after the commit and before its answer: the delivery comes again, and the books say that it is there.
func unacknowledged(t *testing.T, d *database) {
	d.query(`CREATE TABLE unanswered (n bigint)`)
	s := open(t, d, "s1", map[string]any{"table": "unanswered"})
	write(t, s, 1, rows("n", row{1}))
	d.query(`INSERT INTO unanswered VALUES (2); UPDATE tidemark_delivered SET number = 2 WHERE component = 'unanswered'`)
	d.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`)
	require.Error(t, s.Write(context.Background(), 2, rows("n", row{2})))
	write(t, s, 2, rows("n", row{2}, row{3}))
	require.Equal(t, [][]string{{"1"}, {"2"}, {"3"}}, d.query(`SELECT n FROM unanswered ORDER BY n`))
}

func TestOptionsThatCannotBe(t *testing.T) {
	for options, want := range map[string]string{
		`{"table":"t"}`:                               "url",
		`{"url":"postgres://h:x/","table":"t"}`:       "not the address of a database",
		`{"url":"host=h","table":"a.b.c"}`:            `"a.b.c" is no table`,
		`{"url":"host=h","table":"t","nul":"keep"}`:   "keep",
		`{"url":"host=h","table":"t","timeout":"0s"}`: "above 0",
	} {
		err := Plugin().CheckOptions([]byte(options))
		require.ErrorContains(t, err, want, options)
	}
	err := Plugin().CheckOptions([]byte(`{"url":"postgres://u:secret@h:x/","table":"t"}`))
	require.NotContains(t, err.Error(), "secret")
}
