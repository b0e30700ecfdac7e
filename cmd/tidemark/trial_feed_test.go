package main

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// feed is a server that sources connect to. It sends what a test tells it.
type feed struct {
	t        *trial
	listener *net.TCPListener
	conn     *net.TCPConn
	accepted int
}

// feed opens a server; a pipeline finds it by the variable that env gives.
func (t *trial) feed() *feed {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &feed{t: t, listener: l.(*net.TCPListener)}
	t.Cleanup(func() {
		f.close()
		l.Close()
	})
	return f
}

// env tells a pipeline where the server is.
func (f *feed) env() string { return "FEED=" + f.listener.Addr().String() }

// need waits for a connection, if there is none.
func (f *feed) need() *net.TCPConn {
	f.t.Helper()
	if f.conn == nil {
		require.NoError(f.t, f.listener.SetDeadline(time.Now().Add(30*time.Second)))
		c, err := f.listener.AcceptTCP()
		require.NoError(f.t, err, "nobody connects")
		require.NoError(f.t, c.SetNoDelay(true))
		f.conn, f.accepted = c, f.accepted+1
	}
	return f.conn
}

// send sends bytes as they are.
func (f *feed) send(text string) {
	f.t.Helper()
	_, err := io.WriteString(f.need(), text)
	require.NoError(f.t, err)
}

// lines sends lines, each in a packet of its own.
func (f *feed) lines(lines ...string) {
	f.t.Helper()
	for _, l := range lines {
		f.send(l + "\n")
	}
}

// close ends the connection; the next send waits for a new one.
func (f *feed) close() {
	if f.conn != nil {
		f.conn.Close()
		f.conn = nil
	}
}

// reset ends the connection as a crash of the sender's machine would.
func (f *feed) reset() {
	f.t.Helper()
	require.NoError(f.t, f.need().SetLinger(0))
	f.close()
}

// plan follows a file of steps: {"send": text}, {"hex": bytes}, {"fill": text, "n": times}, {"close": true}, {"reset": true}, and {"sleep":
// seconds}, which only makes sure that parts come in separate packets and is shortened to a twentieth.
func (f *feed) plan(name string) {
	f.t.Helper()
	for _, line := range wholeLines(strings.TrimSuffix(f.t.read(name), "\n") + "\n") {
		var s struct {
			Send, Hex, Fill string
			N               int
			Sleep           float64
			Close, Reset    bool
		}
		require.NoError(f.t, json.Unmarshal([]byte(line), &s))
		switch {
		case s.Close:
			f.close()
		case s.Reset:
			f.reset()
		case s.Hex != "":
			b, err := hex.DecodeString(s.Hex)
			require.NoError(f.t, err)
			f.send(string(b))
		case s.Fill != "":
			f.send(strings.Repeat(s.Fill, s.N))
		case s.Send != "":
			f.send(s.Send)
		default:
			time.Sleep(time.Duration(s.Sleep * float64(time.Second) / 20))
		}
	}
}

// waiting is how many sources have connected that need has not taken yet.
func (f *feed) waiting() int {
	f.t.Helper()
	n := 0
	for {
		require.NoError(f.t, f.listener.SetDeadline(time.Now().Add(time.Millisecond)))
		c, err := f.listener.AcceptTCP()
		if err != nil {
			return n
		}
		c.Close()
		n++
	}
}
