package notify

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/clock"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func listen(t *testing.T) (*net.UnixConn, string) {
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn, path
}

func TestTheManagerIsTold(t *testing.T) {
	conn, path := listen(t)
	m, err := New(clock.System(), environment(map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "10000000", "WATCHDOG_PID": fmt.Sprint(os.Getpid())}))
	require.NoError(t, err)
	require.True(t, m.Present())
	require.Equal(t, 10*time.Second, m.Watchdog())
	buf := make([]byte, 1000)
	for _, c := range []struct {
		tell func()
		want string
	}{
		{m.Ready, "READY=1"}, {m.Alive, "WATCHDOG=1"}, {m.Stopping, "STOPPING=1"},
		{func() { m.Extend(5 * time.Second) }, "EXTEND_TIMEOUT_USEC=5000000"},
		{func() { m.Status("two\nlines") }, "STATUS=two lines"},
	} {
		c.tell()
		n, err := conn.Read(buf)
		require.NoError(t, err)
		require.Equal(t, c.want, string(buf[:n]))
	}
	m.Close()
	m.Close()
	m.Ready()
	require.False(t, m.Present())
}

func TestNobodyListens(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"no socket": {}, "a watchdog without a socket": {"WATCHDOG_USEC": "1000"},
	} {
		m, err := New(clock.System(), environment(env))
		require.NoError(t, err, name)
		require.False(t, m.Present())
		require.Zero(t, m.Watchdog())
		m.Ready()
	}
	m, err := New(clock.System(), environment(map[string]string{"NOTIFY_SOCKET": filepath.Join(t.TempDir(), "none")}))
	require.Error(t, err)
	m.Ready()
	var none *Manager
	none.Ready()
	none.Close()
	require.Zero(t, none.Watchdog())

	// The watchdog of another process is not ours.
	_, path := listen(t)
	m, err = New(clock.System(), environment(map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}))
	require.NoError(t, err)
	require.Zero(t, m.Watchdog())
	m.Close()
}

// A socket that is full because nobody reads it holds nobody up for ever.
func TestNobodyReads(t *testing.T) {
	_, path := listen(t)
	m, err := New(clock.System(), environment(map[string]string{"NOTIFY_SOCKET": path}))
	require.NoError(t, err)
	defer m.Close()
	for range 30 { // more than the system queues by default
		m.Alive()
	}
}
