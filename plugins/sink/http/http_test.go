package http

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func rows(texts ...string) *batch.Batch {
	b := &batch.Batch{Trailer: 1, Offsets: []uint32{0}, N: len(texts)}
	for _, t := range texts {
		b.Data = append(append(b.Data, t...), '\n')
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	}
	return b
}

// fixture is a sink and the server it sends to.
func fixture(t *testing.T, options map[string]any, answer http.HandlerFunc) wire.Sink {
	server := httptest.NewServer(answer)
	if options == nil {
		options = map[string]any{}
	}
	options["url"] = server.URL + "/rows"
	raw, err := json.Marshal(options)
	require.NoError(t, err)
	s, err := Plugin().OpenSink(wire.SinkOpen{Options: raw, Place: wire.Place{Component: "out", Store: "s1"}}, wire.Runtime{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(); server.Close() })
	return s
}

func TestADelivery(t *testing.T) {
	var got []string
	s := fixture(t, map[string]any{"token": "x", "headers": map[string]string{"X-Team": "a"}}, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Idempotency-Key"), r.Header.Get("Tidemark-First-Row"),
			r.Header.Get("Authorization"), r.Header.Get("X-Team"), string(body))
	})
	require.NoError(t, s.Write(context.Background(), 7, rows(`{"a":1}`, `{"a":2}`)))
	require.Equal(t, []string{"POST /rows", "application/x-ndjson", "s1/out/7-8", "7", "Bearer x", "a", "{\"a\":1}\n{\"a\":2}\n"}, got)
}

func TestAnArrayPacked(t *testing.T) {
	var got []map[string]int
	s := fixture(t, map[string]any{"body": "array", "compression": "gzip"}, func(_ http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err == nil {
			_ = json.NewDecoder(z).Decode(&got)
		}
	})
	require.NoError(t, s.Write(context.Background(), 1, rows(`{"a":1}`, `{"a":2}`)))
	require.Equal(t, []map[string]int{{"a": 1}, {"a": 2}}, got)
}

func TestWhatAnswersMean(t *testing.T) {
	for _, c := range []struct {
		status  int
		header  string
		refused bool
		after   time.Duration
	}{
		{200, "", false, 0}, {204, "", false, 0},
		{400, "", true, 0}, {409, "", true, 0}, {422, "", true, 0},
		{429, "3", false, 3 * time.Second}, {503, "", false, 0}, {401, "", false, 0}, {404, "", false, 0},
	} {
		s := fixture(t, nil, func(w http.ResponseWriter, _ *http.Request) {
			if c.header != "" {
				w.Header().Set("Retry-After", c.header)
			}
			w.WriteHeader(c.status)
			if c.status != 204 {
				_, _ = io.WriteString(w, "because\nof this")
			}
		})
		err := s.Write(context.Background(), 1, rows("a", "b"))
		if c.status < 300 {
			require.NoError(t, err)
			continue
		}
		var verdict *wire.SinkError
		require.ErrorAs(t, err, &verdict)
		require.False(t, verdict.Permanent)
		require.Equal(t, c.after, verdict.After)
		if !c.refused {
			require.Empty(t, verdict.Refused)
			require.Contains(t, verdict.Message, "because of this")
			continue
		}
		require.Len(t, verdict.Refused, 2)
		require.Contains(t, verdict.Refused[1].Message, "because of this")
		require.True(t, strings.HasPrefix(verdict.Refused[1].Message, "4"))
	}
}

func TestNoAnswer(t *testing.T) {
	s := fixture(t, map[string]any{"timeout": "50ms"}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server looks for the end of its client only then
		<-r.Context().Done()
	})
	err := s.Write(context.Background(), 1, rows("a"))
	var verdict *wire.SinkError
	require.ErrorAs(t, err, &verdict)
	require.Empty(t, verdict.Refused)
	require.False(t, verdict.Permanent)
}

func TestRetryAfterMayBeADate(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, time.Minute, retryAfter(now.Add(time.Minute).Format(http.TimeFormat), now))
	require.Zero(t, retryAfter("soon", now))
}

func TestOptionsThatCannotBe(t *testing.T) {
	for options, want := range map[string]string{
		`{}`:                                         "url",
		`{"url":"example.com"}`:                      `"example.com" is no address`,
		`{"url":"ftp://example.com"}`:                "is no address",
		`{"url":"https://example.com:99999/x"}`:      "there is no port 99999",
		`{"url":"http://example.com","token":"x"}`:   "in the clear",
		`{"url":"http://localhost","timeout":"0s"}`:  "above 0",
		`{"url":"http://localhost","body":"object"}`: "object",
	} {
		require.ErrorContains(t, Plugin().CheckOptions([]byte(options)), want, options)
	}
	require.NoError(t, Plugin().CheckOptions([]byte(`{"url":"http://127.0.0.1:8080/x","token":"x"}`)))
}
