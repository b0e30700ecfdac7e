// Package http is the sink that sends rows with POST: one request a delivery, a row a line or a JSON array.
//
// It is idempotent as far as the other side looks: a delivery that comes again, after an answer that was lost, bears the same
// Idempotency-Key (the state store, the component, and the numbers of its rows), and Tidemark-First-Row says the number of the first row in
// any case, since a delivery after a restart may be cut differently. With batch = { rows = 1 } each row has a key of its own.
//
// What an answer means:
//
//	2xx                                   taken
//	400, 409, 413, 415, 422               these rows are refused for good; of several, the bad ones are found and the others go on
//	everything else, and no answer        tried again, after Retry-After if the other side says so
package http

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Config is what stands in the component's table; format, template and time_format are the daemon's.
type Config struct {
	sdk.Env
	URL         string            `name:"url" required:"true" help:"where to send rows, for instance \"https://example.com/rows\""`
	Method      string            `name:"method" default:"POST" enum:"POST,PUT,PATCH" help:"the request's method"`
	Body        string            `name:"body" default:"lines" enum:"lines,array" help:"lines: a row a line; array: the rows of a delivery as one JSON array"`
	ContentType string            `name:"content_type" help:"default: application/x-ndjson for lines, application/json for an array"`
	Headers     map[string]string `name:"headers" help:"more headers"`
	Token       string            `name:"token" help:"sent as Authorization: Bearer …"`
	Compression string            `name:"compression" default:"none" enum:"none,gzip" help:"how the body is packed"`
	Timeout     time.Duration     `name:"timeout" default:"30s" help:"how long one request may take"`
	CA          string            `name:"ca" help:"file with the authorities that the server's certificate must come from, PEM; default: the system's"`
}

// Validate is called when the pipeline file is read.
func (c *Config) Validate() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return sdk.BadOption(fmt.Sprintf("%q is no address; write \"https://host/path\"", c.URL), "url")
	case u.Port() != "" && sdk.CheckHostPort(u.Host, false) != nil:
		return sdk.BadOption(sdk.CheckHostPort(u.Host, false).Error(), "url")
	case c.Timeout <= 0:
		return sdk.BadOption("must be above 0", "timeout")
	case c.Token != "" && u.Scheme == "http" && !local(u.Hostname()):
		return sdk.BadOption("the token would go over the network in the clear; use https", "token")
	}
	return nil
}

func local(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// Plugin is the sink.
func Plugin() sdk.Plugin {
	return sdk.NewSink("http", "sends rows with POST", sdk.SinkTraits{Delivery: sdk.Idempotent, Text: true},
		func(_ context.Context, c Config) (sdk.Sink, error) { return open(c) })
}

type sink struct {
	Config
	client *http.Client
	body   bytes.Buffer
}

func open(c Config) (*sink, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("load authorities: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM form", c.CA)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	if c.ContentType == "" {
		c.ContentType = "application/x-ndjson"
		if c.Body == "array" {
			c.ContentType = "application/json"
		}
	}
	return &sink{Config: c, client: &http.Client{Transport: t, Timeout: c.Timeout}}, nil
}

// refusing are the answers that say that the rows themselves are the trouble.
var refusing = []int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}

// Write sends one request.
func (s *sink) Write(ctx context.Context, rows sdk.Rows) error {
	n := rows.Len()
	if n == 0 {
		return nil
	}
	if err := s.encode(rows.Batch); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, s.Method, s.URL, bytes.NewReader(s.body.Bytes()))
	if err != nil {
		return err
	}
	last := rows.First + uint64(n) - 1
	r.Header.Set("Content-Type", s.ContentType)
	r.Header.Set("Idempotency-Key", fmt.Sprintf("%s/%s/%d-%d", s.Store(), s.Component(), rows.First, last))
	r.Header.Set("Tidemark-First-Row", strconv.FormatUint(rows.First, 10))
	r.Header.Set("Tidemark-Rows", strconv.Itoa(n))
	if s.Compression == "gzip" {
		r.Header.Set("Content-Encoding", "gzip")
	}
	if s.Token != "" {
		r.Header.Set("Authorization", "Bearer "+s.Token)
	}
	for k, v := range s.Headers {
		r.Header.Set(k, v)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	switch {
	case res.StatusCode < 300:
		return nil
	case slices.Contains(refusing, res.StatusCode):
		refused := &sdk.RowsRefused{}
		message := verdict(res, text)
		for i := range n {
			refused.Rows = append(refused.Rows, batch.BadRow{Row: uint32(i), Code: "refused", Message: message})
		}
		return refused
	}
	err = fmt.Errorf("%s: %s", s.URL, verdict(res, text))
	if after := retryAfter(res.Header.Get("Retry-After"), time.Now()); after > 0 {
		return sdk.RetryAfter(after, err)
	}
	return err
}

// encode fills s.body.
func (s *sink) encode(b *batch.Batch) error {
	s.body.Reset()
	out := io.Writer(&s.body)
	var z *gzip.Writer
	if s.Compression == "gzip" {
		z = gzip.NewWriter(&s.body)
		out = z
	}
	data := b.Data[b.Offsets[0]:b.Offsets[b.N]]
	if s.Body == "array" {
		data = make([]byte, 0, len(data)+2)
		data = append(data, '[')
		for i := range b.N {
			if i > 0 {
				data = append(data, ',', '\n')
			}
			data = append(data, b.Row(i)...)
		}
		data = append(data, ']', '\n')
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	if z != nil {
		return z.Close()
	}
	return nil
}

// verdict is an answer in one line.
func verdict(res *http.Response, text []byte) string {
	line := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\ufffd")), " ")
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "…"
	}
	if line == "" {
		return res.Status
	}
	return res.Status + ": " + line
}

// retryAfter reads the header: seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return at.Sub(now)
	}
	return 0
}

// Close ends the connections.
func (s *sink) Close() error {
	s.client.CloseIdleConnections()
	return nil
}
