package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"
)

// receiver is an HTTP server that takes rows, or does not.
type receiver struct {
	t       *trial
	address string
	server  *http.Server
	release chan struct{} // is closed to let hanging requests go

	mu       sync.Mutex
	lines    []string // of requests that were answered with 200
	requests int
	answer   func(request int, body []byte) int // status; 0 hangs until release, -1 cuts the connection after the rows were taken
}

// receiver opens a server that takes everything.
func (t *trial) receiver() *receiver {
	t.Helper()
	r := &receiver{t: t, release: make(chan struct{}), address: "127.0.0.1:0"}
	r.open()
	t.Cleanup(r.shut)
	return r
}

// env tells a pipeline where the server is.
func (r *receiver) env() string { return "SINK=http://" + r.address + "/rows" }

// open listens, at the same address as before.
func (r *receiver) open() {
	r.t.Helper()
	l, err := net.Listen("tcp", r.address)
	require.NoError(r.t, err)
	r.address = l.Addr().String()
	r.server = &http.Server{Handler: r}
	go r.server.Serve(l)
}

// shut refuses connections from now on.
func (r *receiver) shut() { r.server.Close() }

// rule says how requests are answered from now on; nil takes all.
func (r *receiver) rule(answer func(request int, body []byte) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// got are the lines that were taken so far.
func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// count is how many lines were taken, and in how many requests.
func (r *receiver) count() (lines, requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lines), r.requests
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	status := http.StatusOK
	r.mu.Lock()
	r.requests++
	if r.answer != nil {
		status = r.answer(r.requests, body)
	}
	r.mu.Unlock()
	if status == 0 {
		select {
		case <-r.release:
			status = http.StatusOK
		case <-q.Context().Done():
			return
		}
	}
	if status == http.StatusOK || status == -1 {
		r.mu.Lock()
		for s := bufio.NewScanner(bytes.NewReader(body)); s.Scan(); {
			r.lines = append(r.lines, s.Text())
		}
		r.mu.Unlock()
	}
	if status == -1 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
}
