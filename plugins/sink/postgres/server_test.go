package postgres

import (
	"testing"

	"github.com/tidemark-stream/tidemark/plugins/sink/postgres/pgtest"
)

// database is a server of the test's own.
type database struct {
	*pgtest.Server
	url string
}

func startDatabase(t *testing.T) *database {
	s := pgtest.Start(t)
	return &database{s, s.URL}
}

func (d *database) query(sql string) (out [][]string) { return d.Query(sql) }
