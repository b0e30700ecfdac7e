// Package notify tells the service manager (systemd, or whatever speaks its protocol) how the daemon does: a datagram to the socket that
// NOTIFY_SOCKET names. Nothing here fails or blocks: a manager that is not there, or does not read, is no reason to do anything else.
package notify

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/clock"
)

// patience is how long a full socket is waited for, each time.
const patience = 50 * time.Millisecond

// Manager is who started the daemon. The zero value and nil are nobody.
type Manager struct {
	clock    clock.Clock
	watchdog time.Duration

	mu   sync.Mutex
	conn *net.UnixConn // nil: nobody listens
}

// New finds the manager in the environment. It never fails; the error says why a manager that there should be is not told.
func New(c clock.Clock, getenv func(string) string) (*Manager, error) {
	m := &Manager{clock: c}
	path := getenv("NOTIFY_SOCKET")
	if path == "" {
		return m, nil
	}
	if us, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 {
		if pid := getenv("WATCHDOG_PID"); pid == "" || pid == strconv.Itoa(os.Getpid()) {
			m.watchdog = time.Duration(us) * time.Microsecond
		}
	}
	if rest, abstract := strings.CutPrefix(path, "@"); abstract {
		path = "\x00" + rest
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return m, fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	m.conn = conn
	return m, nil
}

// Present says whether somebody is told.
func (m *Manager) Present() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.conn != nil
}

// Watchdog is after how long without Alive the manager takes the daemon for hung. 0: it does not watch.
func (m *Manager) Watchdog() time.Duration {
	if m == nil {
		return 0
	}
	return m.watchdog
}

// Ready says that the start is over.
func (m *Manager) Ready() { m.send("READY=1") }

// Stopping says that the stop has begun.
func (m *Manager) Stopping() { m.send("STOPPING=1") }

// Alive says that the daemon does its work.
func (m *Manager) Alive() { m.send("WATCHDOG=1") }

// Extend asks for more time, from now on, while a start or a stop is under way.
func (m *Manager) Extend(d time.Duration) {
	m.send(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds()))
}

// Status is a line for people, which `systemctl status` shows.
func (m *Manager) Status(text string) { m.send("STATUS=" + strings.ReplaceAll(text, "\n", " ")) }

func (m *Manager) send(text string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn == nil {
		return
	}
	// A message that finds no room is lost; the next one may find some.
	_ = m.conn.SetWriteDeadline(m.clock.Now().Add(patience))
	_, _ = m.conn.Write([]byte(text))
}

// Close gives the socket back.
func (m *Manager) Close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn != nil {
		_ = m.conn.Close()
		m.conn = nil
	}
}
