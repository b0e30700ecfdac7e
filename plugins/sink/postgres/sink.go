package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Config is what stands in the component's table. The daemon's columns setting, where there is one, has chosen the fields already.
type Config struct {
	sdk.Env
	URL     string        `name:"url" required:"true" help:"the database: \"postgres://user:password@host:5432/name\", or key=value pairs as libpq takes them"`
	Table   string        `name:"table" required:"true" help:"the table to write to, perhaps with its schema: \"public.clicks\""`
	Key     []string      `name:"key" help:"columns of a unique key: a row whose key is there replaces what it has; without it every row is inserted"`
	NUL     string        `name:"nul" default:"reject" enum:"reject,remove,replace" help:"what becomes of the character NUL, which PostgreSQL cannot hold"`
	Timeout time.Duration `name:"timeout" default:"1m" help:"how long connecting, or one delivery, may take"`
}

// Validate is called when the pipeline file is read.
func (c *Config) Validate() error {
	if _, err := pgx.ParseConfig(c.URL); err != nil {
		return sdk.BadOption("not the address of a database; write \"postgres://user:password@host:5432/name\"", "url") // err may hold the password
	}
	if n := strings.Count(c.Table, "."); n > 1 || strings.Trim(c.Table, ".") != c.Table {
		return sdk.BadOption(fmt.Sprintf("%q is no table; write \"name\" or \"schema.name\"", c.Table), "table")
	}
	if c.Timeout <= 0 {
		return sdk.BadOption("must be above 0", "timeout")
	}
	return nil
}

// Plugin is the sink.
func Plugin() sdk.Plugin {
	return sdk.NewSink("postgres", "writes rows to a table of PostgreSQL, each exactly once", sdk.SinkTraits{Delivery: sdk.Transactional},
		func(_ context.Context, c Config) (sdk.Sink, error) { return &sink{Config: c}, nil })
}

// books is the table with the numbers, beside the rows' own.
const books = "tidemark_delivered"

// sink connects when there is something to do, and again after a connection has failed.
type sink struct {
	Config
	conn   *pgx.Conn
	fields map[string]kind // the table's columns
	number uint64          // of the last row in the table; set by connect
	enc    encoder
	shape  []string // the names of the fields that enc was made for
}

var _ sdk.Resumer = (*sink)(nil)

// LastDelivered is the number in the books.
func (s *sink) LastDelivered(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return 0, err
	}
	return s.number, nil
}

// connect makes the connection if there is none, sees that the books are there, and reads them.
func (s *sink) connect(ctx context.Context) error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	if err := s.prepare(ctx, conn); err != nil {
		_ = conn.Close(ctx)
		return err
	}
	s.conn = conn
	return nil
}

func (s *sink) prepare(ctx context.Context, conn *pgx.Conn) (err error) {
	if _, err := conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS `+books+` (
		store text, pipeline text, component text, number bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(),
		PRIMARY KEY (store, pipeline, component))`); err != nil && !answered(err, "23505", "42P07", "42710") { // somebody else has just made it, or its row type
		return fmt.Errorf("make the table %s: %w", books, err)
	}
	if s.fields, err = describe(ctx, conn, quoted(s.Table)); err != nil {
		return fmt.Errorf("look at table %s: %w", s.Table, err)
	}
	if key := s.absent(s.Key); key != nil {
		return sdk.Permanent(fmt.Errorf("table %s has no column %s, which key names", s.Table, strings.Join(key, ", ")))
	}
	var number int64
	err = conn.QueryRow(ctx, `SELECT number FROM `+books+` WHERE store = $1 AND pipeline = $2 AND component = $3`,
		s.Store(), s.Pipeline(), s.Component()).Scan(&number)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("read the table %s: %w", books, err)
	}
	s.number = uint64(number)
	s.shape = nil
	if s.Key != nil {
		_, err = conn.Exec(ctx, `CREATE TEMP TABLE tidemark_stage (LIKE `+quoted(s.Table)+` INCLUDING DEFAULTS INCLUDING CONSTRAINTS) ON COMMIT DELETE ROWS`)
		if err == nil {
			_, err = conn.Exec(ctx, `ALTER TABLE tidemark_stage ADD COLUMN tidemark_line bigint GENERATED ALWAYS AS IDENTITY`)
		}
		if err != nil {
			return fmt.Errorf("make a temporary table: %w", err)
		}
	}
	return nil
}

// answered is true for an error that the server has answered with one of these codes.
func answered(err error, codes ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

// absent are the names that the table has no column for.
func (s *sink) absent(names []string) (out []string) {
	for _, n := range names {
		if _, ok := s.fields[n]; !ok {
			out = append(out, n)
		}
	}
	return out
}

// Write puts a delivery into the table in one transaction.
func (s *sink) Write(ctx context.Context, rows sdk.Rows) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return err
	}
	from := 0
	if rows.First <= s.number { // rows that are in the table already
		if from = int(min(s.number+1-rows.First, uint64(rows.Len()))); from == rows.Len() {
			return nil
		}
	}
	if err := s.bind(rows.Batch); err != nil {
		return err
	}
	refused, err := s.deliver(ctx, rows, from)
	if err != nil {
		return fmt.Errorf("write to table %s: %w", s.Table, err)
	}
	if len(refused) == 0 {
		return nil
	}
	slices.SortFunc(refused, func(a, b batch.BadRow) int { return int(a.Row) - int(b.Row) })
	return &sdk.RowsRefused{Rows: refused}
}

// bind prepares for the columns of a batch.
func (s *sink) bind(b *batch.Batch) error {
	names := make([]string, len(b.Columns))
	for i := range b.Columns {
		names[i] = b.Columns[i].Name
	}
	if !slices.Equal(names, s.shape) {
		if fields := s.absent(names); fields != nil {
			return missing(s.Table, fields)
		}
		s.enc = encoder{nul: nulRule(s.NUL)}
		for _, n := range names {
			s.enc.columns = append(s.enc.columns, column{n, s.fields[n]})
		}
		s.shape = names
	}
	s.enc.bind(b)
	return nil
}

// line is a row on its way, by its number in the delivery.
type line struct {
	row  int
	text []byte
}

// deliver tries until a transaction has gone through without the rows that the server refuses. When it refuses all of several, nothing is
// written, the number stays, and the daemon sends the rows again in halves; so it does when the server does not say which row it is.
func (s *sink) deliver(ctx context.Context, rows sdk.Rows, from int) (refused []batch.BadRow, err error) {
	var lines []line
	var data []byte
	n := rows.Len()
	for row := from; row < n; row++ {
		at := len(data)
		var ok bool
		if data, ok = s.enc.appendRow(data, rows.Batch, row); !ok {
			refused = append(refused, batch.BadRow{Row: uint32(row), Code: "nul", Message: "a text holds the character NUL, which PostgreSQL cannot store (see the option nul)"})
			continue
		}
		lines = append(lines, line{row, data[at:len(data):len(data)]})
	}
	for {
		if n > 1 && len(refused) == n {
			return refused, nil
		}
		last := rows.First + uint64(n) - 1
		err := s.transaction(ctx, lines, last)
		if err == nil {
			s.number = last
			return refused, nil
		}
		var e *pgconn.PgError
		if !errors.As(err, &e) || !aboutRows(e) {
			return nil, err
		}
		bad, ok := lineOf(e)
		if len(lines) == 1 {
			bad, ok = 0, true
		}
		if !ok || bad >= len(lines) {
			refused = refused[:0]
			for row := range n {
				refused = append(refused, batch.BadRow{Row: uint32(row), Code: "refused", Message: text(e)})
			}
			return refused, nil
		}
		refused = append(refused, batch.BadRow{Row: uint32(lines[bad].row), Code: "refused", Message: text(e)})
		lines = slices.Delete(lines, bad, bad+1)
	}
}

// transaction copies the lines and writes the number.
func (s *sink) transaction(ctx context.Context, lines []line, number uint64) (err error) {
	tx, err := s.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback(ctx)
		}
	}()
	if len(lines) > 0 {
		if err := s.copy(ctx, lines); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `INSERT INTO `+books+` (store, pipeline, component, number) VALUES ($1, $2, $3, $4)
		ON CONFLICT (store, pipeline, component) DO UPDATE SET number = excluded.number, at = now()`,
		s.Store(), s.Pipeline(), s.Component(), int64(number)); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

func (s *sink) copy(ctx context.Context, lines []line) error {
	var data bytes.Buffer
	for _, l := range lines {
		data.Write(l.text)
	}
	columns := quotedList(s.shape)
	if s.Key == nil {
		_, err := s.conn.PgConn().CopyFrom(ctx, &data, `COPY `+quoted(s.Table)+` (`+columns+`) FROM STDIN`)
		return err
	}
	if _, err := s.conn.PgConn().CopyFrom(ctx, &data, `COPY tidemark_stage (`+columns+`) FROM STDIN`); err != nil {
		return err
	}
	var set []string
	for _, name := range s.shape {
		if !slices.Contains(s.Key, name) {
			set = append(set, pgx.Identifier{name}.Sanitize()+` = excluded.`+pgx.Identifier{name}.Sanitize())
		}
	}
	action := `DO NOTHING`
	if len(set) > 0 {
		action = `DO UPDATE SET ` + strings.Join(set, ", ")
	}
	key := quotedList(s.Key)
	_, err := s.conn.Exec(ctx, `INSERT INTO `+quoted(s.Table)+` (`+columns+`)
		SELECT `+columns+` FROM (SELECT DISTINCT ON (`+key+`) * FROM tidemark_stage ORDER BY `+key+`, tidemark_line DESC) rows ORDER BY tidemark_line
		ON CONFLICT (`+key+`) `+action)
	return err
}

// aboutRows reports whether an error is about the rows and not about the server or the table: data exceptions, constraints, and what a
// trigger raises.
func aboutRows(e *pgconn.PgError) bool {
	class := e.Code[:2]
	return class == "22" || class == "23" || class == "P0" || e.Code == "54000"
}

var copyLine = regexp.MustCompile(`(?m)^COPY [^,]+, line (\d+)`)

// lineOf is the line of COPY that an error names, from 0.
func lineOf(e *pgconn.PgError) (int, bool) {
	m := copyLine.FindStringSubmatch(e.Where)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n - 1, err == nil && n > 0
}

// text is an error in one line.
func text(e *pgconn.PgError) string {
	out := e.Message
	if e.Detail != "" {
		out += ": " + e.Detail
	}
	if e.ColumnName != "" {
		out += " (column " + e.ColumnName + ")"
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", out, e.Code)
}

// Close ends the connection.
func (s *sink) Close() error {
	if s.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.conn.Close(ctx)
}
