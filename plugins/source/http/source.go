package http

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

const partitionName = "http"

// source is a server whose requests wait for the pipeline, and then for the commit.
//
//	handler ──job──▶ queue ──▶ Run: Send, numbered ──▶ waiting ──Ack──▶ handler answers
//
// The queue is short: what does not fit is answered with 429.
type source struct {
	Config
	framing sdk.Framing
	queue   chan *job
	stopped chan struct{} // closed when Run ends

	mu      sync.Mutex
	number  int64 // of the records that were sent on; its decimal digits are the position
	acked   int64
	waiting []*job // sent and not committed, in order
}

// job is a request on its way.
type job struct {
	batches []*batch.Batch
	number  int64         // of the source behind its last record
	sent    chan struct{} // closed when the pipeline has it
	safe    chan struct{} // closed when the commit has it

	spans   []span    // of batches, set before they are sent
	refused []refusal // by the pipeline; complete when safe is closed
}

var _ sdk.RefusalTaker = (*source)(nil)

func newSource(c Config) *source {
	c.Gauge(sdk.Listening, "the port is open", 0)
	return &source{Config: c, queue: make(chan *job, c.MaxWaiting), stopped: make(chan struct{})}
}

// Run serves until ctx is done.
func (s *source) Run(ctx context.Context, out *sdk.SourceContext[[]byte]) error {
	s.framing = out.Framing()
	secure, err := s.tls()
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.Listen, err)
	}
	if secure != nil {
		ln = tls.NewListener(ln, secure)
	}
	part := out.Partition(partitionName)
	if position := part.Position(); position != nil {
		if s.number, err = strconv.ParseInt(string(position), 10, 64); err != nil {
			_ = ln.Close()
			return fmt.Errorf("position %q is not one of this source", position)
		}
		s.acked = s.number
	}
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: out.Logger().StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	out.Gauge(sdk.Listening, "the port is open", 1)
	out.Logger().Info("listening", "listen", ln.Addr().String())
	err = s.forward(ctx, part, served)
	close(s.stopped) // requests that wait are answered now
	end, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(end) != nil {
		_ = server.Close()
	}
	<-served
	return err
}

// forward sends requests on one after the other.
func (s *source) forward(ctx context.Context, part *sdk.Partition[[]byte], served chan error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-served:
			served <- err
			return err
		case j := <-s.queue:
			if err := s.send(part, j); err != nil {
				return err
			}
		}
	}
}

// send numbers a request's records and gives its batches to the pipeline. All batches carry the position behind the whole request but the
// last one those before it: a request that is not committed as a whole is sent again as a whole by its client, and a checkpoint in its
// middle must not take it for done. No two records have one number; within a batch those that are refused come behind the others.
func (s *source) send(part *sdk.Partition[[]byte], j *job) error {
	s.mu.Lock()
	before := s.number
	for _, b := range j.batches {
		s.number += int64(b.N + len(b.Rejects))
	}
	j.number = s.number
	next, index := before, 0
	for _, b := range j.batches {
		j.spans = append(j.spans, spanOf(b, next, index))
		next += int64(b.N + len(b.Rejects))
		index += b.N + len(b.Rejects)
	}
	s.waiting = append(s.waiting, j)
	s.mu.Unlock()
	next = before
	for i, b := range j.batches {
		n := before
		if i == len(j.batches)-1 {
			n = j.number
		}
		b.Base, b.Unit = next, batch.RecordNumber
		next += int64(b.N)
		for i := range b.Rejects {
			b.Rejects[i].Position, b.Rejects[i].HasPosition = next, true
			next++
		}
		b.Position = strconv.AppendInt(b.Position[:0], n, 10)
		if err := part.Send(b); err != nil {
			for _, rest := range j.batches[i+1:] {
				rest.Release()
			}
			return err
		}
	}
	close(j.sent)
	return nil
}

// Ack answers the requests up to a position.
func (s *source) Ack(_ string, position []byte) {
	n, err := strconv.ParseInt(string(position), 10, 64)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acked = max(s.acked, n)
	for len(s.waiting) > 0 && s.waiting[0].number <= s.acked {
		close(s.waiting[0].safe)
		s.waiting = s.waiting[1:]
	}
}

func (s *source) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, a := s.take(w, r)
		w.Header().Set("Content-Type", "application/json")
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(a) // the client may have gone
		s.Count("requests_total", "requests, whatever the answer", 1)
	})
}

// answer is what a client is told.
type answer struct {
	Accepted int       `json:"accepted"`
	Rejected []refusal `json:"rejected"`
	Error    string    `json:"error,omitempty"`
}

func failed(text string) answer { return answer{Rejected: []refusal{}, Error: text} }

// take handles one request.
func (s *source) take(w http.ResponseWriter, r *http.Request) (int, answer) {
	if r.URL.Path != s.Path {
		return http.StatusNotFound, failed("records go to " + s.Path)
	}
	if s.Token != "" && !s.allowed(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return http.StatusUnauthorized, failed("the request has no valid token")
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, failed("records are sent with POST")
	}
	if len(s.queue) == cap(s.queue) { // before the body is read
		return http.StatusTooManyRequests, failed("the pipeline cannot take more at the moment")
	}
	body, err := s.readBody(r)
	switch {
	case errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge, failed(fmt.Sprintf("the body is larger than %d bytes", s.MaxBody))
	case err != nil:
		return http.StatusBadRequest, failed(err.Error())
	}
	batches, accepted, refused, err := s.cutBody(r, body, s.framing)
	if err != nil {
		return http.StatusInternalServerError, failed(err.Error())
	}
	a := answer{Accepted: accepted, Rejected: append([]refusal{}, refused...)}
	if accepted == 0 && len(refused) == 0 {
		release(batches)
		return http.StatusOK, a
	}
	j := &job{batches: batches, sent: make(chan struct{}), safe: make(chan struct{})}
	select {
	case s.queue <- j:
	default:
		release(batches)
		return http.StatusTooManyRequests, failed("the pipeline cannot take more at the moment")
	}
	done := j.safe
	if s.Answer == "received" {
		done = j.sent
	}
	timeout := time.NewTimer(s.AnswerTimeout)
	defer timeout.Stop()
	select {
	case <-done:
		if s.Answer == "committed" { // before that nobody knows
			a.amend(j.refused)
		}
		if a.Accepted == 0 {
			return http.StatusBadRequest, a
		}
		return http.StatusOK, a
	case <-timeout.C:
		return http.StatusServiceUnavailable, failed("the records are not safe yet; if they are sent again they may count twice")
	case <-s.stopped:
		return http.StatusServiceUnavailable, failed("the pipeline is stopping; send the records again")
	case <-r.Context().Done():
		return http.StatusServiceUnavailable, failed("the client has gone")
	}
}

func release(batches []*batch.Batch) {
	for _, b := range batches {
		b.Release()
	}
}

func (s *source) allowed(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) == 1
}
