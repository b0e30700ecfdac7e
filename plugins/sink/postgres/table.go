package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/tidemark-stream/tidemark/sdk"
)

// kind is how values are written for a column.
type kind uint8

const (
	asText    kind = iota // as everybody would write it; the server reads it
	asInteger             // times are milliseconds
	asJSON                // text is quoted
)

// column is a column of the table that is written.
type column struct {
	name string
	kind kind
}

// describe asks the server for the table's columns, in their order.
func describe(ctx context.Context, conn *pgx.Conn, table string) (map[string]kind, error) {
	rows, err := conn.Query(ctx, `SELECT a.attname, format_type(a.atttypid, NULL), t.typcategory::text
		FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
		WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]kind{}
	for rows.Next() {
		var name, typ, category string
		if err := rows.Scan(&name, &typ, &category); err != nil {
			return nil, err
		}
		switch {
		case typ == "json" || typ == "jsonb":
			out[name] = asJSON
		case category == "N":
			out[name] = asInteger
		default:
			out[name] = asText
		}
	}
	return out, rows.Err()
}

// missing says what to do about fields without a column.
func missing(table string, fields []string) error {
	return sdk.Permanent(fmt.Errorf("table %s has no column for %s; add it, or name the fields to write with columns", table, strings.Join(fields, ", ")))
}

// quoted is a name as SQL writes it; a table may have its schema before a dot.
func quoted(name string) string { return pgx.Identifier(strings.Split(name, ".")).Sanitize() }

func quotedList(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = pgx.Identifier{n}.Sanitize()
	}
	return strings.Join(out, ", ")
}
