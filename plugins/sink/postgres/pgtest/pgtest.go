// Package pgtest runs a real PostgreSQL server for a test.
//
// The programs are those that are installed; [Start] leaves the test out where there are none, and fails it when CI=true.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Server is a PostgreSQL server of the test's own. Its methods fail the test that started it.
type Server struct {
	// URL is how to connect, as libpq takes it. The user may do everything.
	URL string

	t    testing.TB
	bin  string
	dir  string
	cred *syscall.Credential
	cmd  *exec.Cmd
}

// Start makes a server in a temporary folder, reachable through a Unix socket only, and stops it when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	d := &Server{t: t, bin: findBin()}
	if d.bin == "" {
		missing(t, "PostgreSQL is not installed (initdb and postgres are looked for in PATH and /usr/lib/postgresql)")
	}
	var err error
	d.dir, err = os.MkdirTemp("", "pg") // a short path: it holds a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(d.dir) })
	if os.Geteuid() == 0 { // the server refuses to run as root
		u, err := user.Lookup("postgres")
		if err != nil {
			missing(t, "the test runs as root and there is no user postgres to run the server")
		}
		uid, err := strconv.Atoi(u.Uid)
		require.NoError(t, err)
		gid, err := strconv.Atoi(u.Gid)
		require.NoError(t, err)
		d.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		require.NoError(t, os.Chown(d.dir, uid, gid))
	}
	init := d.command("initdb", "-D", filepath.Join(d.dir, "data"), "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	out, err := init.CombinedOutput()
	require.NoError(t, err, string(out))
	d.URL = fmt.Sprintf("host=%s user=test dbname=postgres timezone=UTC", d.dir)
	d.Begin()
	t.Cleanup(d.Stop)
	return d
}

// missing leaves a test out on a laptop without PostgreSQL, and fails it in CI, where .ci/services has to have installed it.
func missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s; .ci/services installs it", why)
	}
	t.Skipf("%s; .ci/services installs it", why)
}

func findBin() string {
	places, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if p, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			places = append(places, filepath.Dir(real))
		}
	}
	for _, dir := range places {
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err == nil {
			if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
				return dir
			}
		}
	}
	return ""
}

func (d *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(d.bin, name), args...)
	cmd.Dir = d.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.cred}
	return cmd
}

// Begin starts the server again after Stop, and waits until it answers.
func (d *Server) Begin() {
	d.cmd = d.command("postgres", "-D", filepath.Join(d.dir, "data"), "-k", d.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=20")
	log, err := os.Create(filepath.Join(d.dir, "log"))
	require.NoError(d.t, err)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	require.NoError(d.t, d.cmd.Start())
	require.NoError(d.t, log.Close())
	require.Eventually(d.t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c, err := pgx.Connect(ctx, d.URL)
		if err != nil {
			return false
		}
		return c.Close(ctx) == nil
	}, 60*time.Second, 20*time.Millisecond, "the server does not start; see %s/log", d.dir)
}

// Stop ends the server at once, connections and all.
func (d *Server) Stop() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGQUIT)
	_ = d.cmd.Wait()
	d.cmd = nil
}

// Query returns the rows of a query as text.
func (d *Server) Query(sql string) (out [][]string) {
	c, err := pgx.Connect(context.Background(), d.URL)
	require.NoError(d.t, err)
	defer c.Close(context.Background())
	rows, err := c.Query(context.Background(), sql, pgx.QueryExecModeSimpleProtocol)
	require.NoError(d.t, err)
	defer rows.Close()
	for rows.Next() {
		var line []string
		for _, v := range rows.RawValues() {
			if v == nil {
				line = append(line, "NULL")
			} else {
				line = append(line, string(v))
			}
		}
		out = append(out, line)
	}
	require.NoError(d.t, rows.Err())
	return out
}
