package socket

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/source/sourcetest"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a listening socket of the test.
func server(t *testing.T) *net.TCPListener {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	return ln.(*net.TCPListener)
}

func accept(t *testing.T, ln *net.TCPListener) net.Conn {
	require.NoError(t, ln.SetDeadline(time.Now().Add(20*time.Second)))
	c, err := ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
}

func client(t *testing.T, address string, more sourcetest.Options) *sourcetest.Run {
	o := sourcetest.Options{"address": address, "min_backoff": "5ms", "max_backoff": "20ms"}
	for k, v := range more {
		o[k] = v
	}
	return sourcetest.Start(t, Plugin(), o)
}

func TestAClientComesBackAndNeverGluesConnections(t *testing.T) {
	ln := server(t)
	address := ln.Addr().String()
	r := client(t, address, nil)
	c := accept(t, ln)
	send(t, c, "a\nb\nhal")
	r.UntilRows(2)
	require.NoError(t, c.Close()) // the end of its last line

	c = accept(t, ln)
	send(t, c, "f\nc\n")
	r.UntilRows(5)
	require.NoError(t, c.(*net.TCPConn).SetLinger(0)) // a reset
	require.NoError(t, c.Close())

	c = accept(t, ln)
	send(t, c, "d\n")
	r.UntilRows(6)
	require.Equal(t, []string{"a", "b", "hal", "f", "c", "d"}, r.Rows())
	require.Equal(t, []string{address}, r.Names(), "one partition over all connections")
	r.Stop()
	require.Equal(t, 3, strings.Count(r.Log(), "connected:"), r.Log())
	require.Equal(t, 2, strings.Count(r.Log(), "connection ended"), r.Log())
}

func TestEveryLineMayNeedItsEnd(t *testing.T) {
	ln := server(t)
	r := client(t, ln.Addr().String(), sourcetest.Options{"unfinished": "reject"})
	c := accept(t, ln)
	send(t, c, "a\nb")
	require.NoError(t, c.Close())
	send(t, accept(t, ln), "c\n")
	r.UntilRows(2)
	require.Equal(t, []string{"a", "c"}, r.Rows())
	require.Equal(t, []string{"partial 1"}, r.Rejects())
	r.Stop()
}

// A connection that breaks has cut its last line: nobody can say what was to follow.
func TestALineThatAResetHasCutIsNoRecord(t *testing.T) {
	ln := server(t)
	r := client(t, ln.Addr().String(), nil)
	c := accept(t, ln)
	send(t, c, "a\nhal")
	r.UntilRows(1)
	require.NoError(t, c.(*net.TCPConn).SetLinger(0)) // a reset
	require.NoError(t, c.Close())
	send(t, accept(t, ln), "f\n")
	r.UntilRows(2)
	require.Equal(t, []string{"a", "f"}, r.Rows())
	require.Equal(t, []string{"partial 3"}, r.Rejects())
	r.Stop()
}

// Connections that say little cost little: what they have said is passed on, and they keep no batch while they are silent.
func TestSilentConnectionsAreCheap(t *testing.T) {
	const connections, each = 500, 40 << 10 // goroutines' stacks, and this side's half of the connection, included
	r, address := listening(t, sourcetest.Options{"listen": "127.0.0.1:0"})
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // a pool gives up what was not asked for since the last one
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	before := heap()
	for range connections {
		send(t, dial(t, "tcp", address), "a\nhal")
	}
	r.UntilRows(connections)
	require.Eventually(t, func() bool { return heap()-before < connections*each }, time.Minute, 10*time.Millisecond,
		"a batch for each would be %d bytes", connections*(128<<10))
	r.Stop()
}

func TestTheServerMayStartLater(t *testing.T) {
	ln := server(t)
	address := ln.Addr().String()
	require.NoError(t, ln.Close())
	r := client(t, address, nil)
	r.Until("a try", func(r *sourcetest.Run) bool { return strings.Contains(r.Log(), "cannot connect") })
	again, err := net.Listen("tcp", address)
	require.NoError(t, err)
	defer again.Close()
	send(t, accept(t, again.(*net.TCPListener)), "a\n")
	r.UntilRows(1)
	require.Equal(t, 1, strings.Count(r.Log(), "cannot connect"), "one line for the outage")
}

func TestWithoutReconnectTheSourceEndsWithItsConnection(t *testing.T) {
	ln := server(t)
	r := client(t, ln.Addr().String(), sourcetest.Options{"reconnect": false})
	c := accept(t, ln)
	send(t, c, "a\nb\n")
	require.NoError(t, c.Close())
	require.NoError(t, r.Wait())
	require.Equal(t, []string{"a", "b"}, r.Rows())
	require.True(t, r.Ended())
}

func TestALineInPieces(t *testing.T) {
	ln := server(t)
	r := client(t, ln.Addr().String(), nil)
	c := accept(t, ln)
	for _, b := range []byte("héé ö\n") {
		send(t, c, string([]byte{b}))
	}
	r.UntilRows(1)
	require.Equal(t, []string{"héé ö"}, r.Rows())
}

func TestAnOverLongLineKeepsTheConnection(t *testing.T) {
	ln := server(t)
	o := sourcetest.Options{"address": ln.Addr().String(), "reconnect": false}
	r := sourcetest.StartFramed(t, Plugin(), o, wire.Framing{Format: "lines", MaxRecord: 1000})
	c := accept(t, ln)
	send(t, c, "a\n"+strings.Repeat("x", 300_000)+"\nb\n")
	require.NoError(t, c.Close())
	require.NoError(t, r.Wait())
	require.Equal(t, []string{"a", "b"}, r.Rows())
	require.Equal(t, []string{"too_long 300000"}, r.Rejects())
}

func TestASilentConnectionIsClosed(t *testing.T) {
	ln := server(t)
	r := client(t, ln.Addr().String(), sourcetest.Options{"idle_timeout": "30ms"})
	send(t, accept(t, ln), "a\nhal")
	accept(t, ln) // it gave the first one up
	r.Until("the reason", func(r *sourcetest.Run) bool { return strings.Contains(r.Log(), errIdle.Error()) })
	require.Equal(t, []string{"a"}, r.Rows())
	require.Equal(t, []string{"partial 3"}, r.Rejects(), "the peer did not say that it had no more to say")
}

// listening starts a listener and returns its address.
func listening(t *testing.T, o sourcetest.Options) (*sourcetest.Run, string) {
	r := sourcetest.Start(t, Plugin(), o)
	var address string
	r.Until("the address", func(r *sourcetest.Run) bool {
		_, rest, ok := strings.Cut(r.Log(), "listening: listen=")
		address, _, _ = strings.Cut(rest, "\n")
		address = strings.Trim(address, `"`)
		return ok
	})
	return r, address
}

func dial(t *testing.T, network, address string) net.Conn {
	c, err := net.Dial(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestEachAcceptedConnectionIsAPartition(t *testing.T) {
	r, address := listening(t, sourcetest.Options{"listen": "127.0.0.1:0"})
	a, b, silent := dial(t, "tcp", address), dial(t, "tcp", address), dial(t, "tcp", address)
	send(t, a, "a1\na")
	r.UntilRows(1)
	send(t, b, "b1\nb2\n")
	r.UntilRows(3)
	require.NoError(t, silent.Close())
	require.NoError(t, a.Close())
	r.Until("the end of a", func(r *sourcetest.Run) bool { return r.Of(a.LocalAddr().String() + "#1").Ended })
	require.Equal(t, []string{"a1", "a"}, r.Of(a.LocalAddr().String()+"#1").Rows)
	r.Until("b", func(r *sourcetest.Run) bool { return !r.Of(b.LocalAddr().String() + "#2").Ended })
	require.Len(t, r.Names(), 2, "who says nothing holds nobody back")
	r.Stop()
}

// A read that is under way when the hold comes is sent; then the peer has to wait, and the others have not.
func TestAHeldConnectionIsNotRead(t *testing.T) {
	r, address := listening(t, sourcetest.Options{"listen": "127.0.0.1:0", "idle_timeout": "1h"})
	a, b := dial(t, "tcp", address), dial(t, "tcp", address)
	send(t, a, "first\n")
	r.UntilRows(1)
	held := a.LocalAddr().String() + "#1"
	r.Hold(held, true)
	const lines = 200_000
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(a, strings.Repeat("a line of 32 bytes, its end incl\n", lines))
		sent <- err
	}()
	send(t, b, "b1\n")
	r.Until("b1", func(r *sourcetest.Run) bool { return len(r.Of(b.LocalAddr().String()+"#2").Rows) == 1 })
	r.Until("few of a", func(r *sourcetest.Run) bool { return len(r.Of(held).Rows) < lines/10 })
	r.Hold(held, false)
	r.Until("all of a", func(r *sourcetest.Run) bool { return len(r.Of(held).Rows) == lines+1 })
	require.NoError(t, <-sent)
	r.Hold(held, true)
	r.Stop()
}

func TestNoMoreConnectionsThanAllowed(t *testing.T) {
	r, address := listening(t, sourcetest.Options{"listen": "127.0.0.1:0", "max_connections": 1})
	a, b := dial(t, "tcp", address), dial(t, "tcp", address)
	send(t, b, "b\n")
	send(t, a, "a\n")
	r.UntilRows(1)
	require.Equal(t, []string{"a"}, r.Rows())
	require.NoError(t, a.Close())
	r.UntilRows(2)
}

func TestUnixSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	dead, err := net.Listen("unix", path)
	require.NoError(t, err)
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, dead.Close()) // as after a crash
	r, _ := listening(t, sourcetest.Options{"listen": path, "network": "unix"})
	send(t, dial(t, "unix", path), "a\n")
	r.UntilRows(1)

	second := sourcetest.Start(t, Plugin(), sourcetest.Options{"listen": path, "network": "unix"})
	require.ErrorContains(t, second.Wait(), "another program listens there already")
}

func TestAPortInUse(t *testing.T) {
	_, address := listening(t, sourcetest.Options{"listen": "127.0.0.1:0"})
	r := sourcetest.Start(t, Plugin(), sourcetest.Options{"listen": address})
	require.EqualError(t, r.Wait(), "source socket: listen on "+address+": another program listens there already")
}

func TestDatagramsHoldWholeRecords(t *testing.T) {
	r, address := listening(t, sourcetest.Options{"listen": "127.0.0.1:0", "network": "udp"})
	c := dial(t, "udp", address)
	for _, d := range []string{"a\nb", "", "c\n", "d"} {
		send(t, c, d)
	}
	r.UntilRows(4)
	require.ElementsMatch(t, []string{"a", "b", "c", "d"}, r.Rows())
	r.Stop()
}

func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	table := map[string]any{"enabled": true, "cert": cert, "key": key}
	r, address := listening(t, sourcetest.Options{"listen": "127.0.0.1:0", "tls": table})
	plain := dial(t, "tcp", address)
	send(t, plain, "not TLS at all\n")
	r.Until("the refusal", func(r *sourcetest.Run) bool { return strings.Contains(r.Log(), "no TLS connection") })
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	defer c.Close()
	send(t, c, "a\n")
	r.UntilRows(1)

	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	require.NoError(t, err)
	defer ln.Close()
	got := make(chan error, 1)
	go func() {
		s, err := ln.Accept()
		if err == nil {
			_, err = s.Write([]byte("b\n"))
			_ = s.Close()
		}
		got <- err
	}()
	mine := client(t, ln.Addr().String(), sourcetest.Options{"reconnect": false, "tls": map[string]any{"enabled": true, "ca": cert}})
	require.NoError(t, mine.Wait())
	require.NoError(t, <-got)
	require.Equal(t, []string{"b"}, mine.Rows())
}

// certificate makes one for 127.0.0.1 that is its own authority.
func certificate(t *testing.T) (cert, key string) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(k)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	return cert, key
}

func TestPausesGrowWithJitter(t *testing.T) {
	b := newBackoff(100*time.Millisecond, time.Second)
	for _, turn := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		turn *= time.Millisecond
		d := b.next()
		require.GreaterOrEqual(t, d, turn/2)
		require.LessOrEqual(t, d, turn)
	}
	b.reset()
	require.LessOrEqual(t, b.next(), 100*time.Millisecond)
}

func TestOptionsThatCannotBe(t *testing.T) {
	for options, want := range map[string]string{
		`{}`:                                                      "needs an address",
		`{"address":"a:1","listen":":2"}`:                         "either connects or listens",
		`{"address":"a"}`:                                         `"a" has no port`,
		`{"address":"a:99999"}`:                                   "there is no port 99999",
		`{"address":"a:0"}`:                                       "not connect to it",
		`{"listen":":70000"}`:                                     "there is no port 70000",
		`{"address":"a:1","keep_alive":"-1s"}`:                    "negative",
		`{"address":":1"}`:                                        `write "localhost:1"`,
		`{"address":"/run/x"}`:                                    `network = "unix"`,
		`{"address":"a:1","network":"udp"}`:                       "udp has no connections",
		`{"listen":":1","tls":{"enabled":true}}`:                  "needs a certificate",
		`{"listen":":1","tls":{"enabled":true,"cert":"c"}}`:       "belong together",
		`{"address":"a:1","min_backoff":"2s","max_backoff":"1s"}`: "below min_backoff",
		`{"address":"a:1","min_backoff":"0s"}`:                    "full speed",
	} {
		require.ErrorContains(t, Plugin().CheckOptions([]byte(options)), want, options)
	}
}
