package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/state"
)

// ErrNobody says that no daemon answers at the address: there is no socket, or nobody listens on it.
var ErrNobody = errors.New("no daemon answers")

// Client asks a daemon. It may be used by several goroutines.
type Client struct {
	http  *http.Client
	base  string
	where string // for people
	token string
}

// OfSocket asks the daemon that serves a Unix socket.
func OfSocket(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return withShortPath(path, func(short string) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", short) })
	}
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial}}, base: "http://tidemark", where: path}
}

// OfState asks the daemon whose state directory this is, through the socket in it.
func OfState(dir string) *Client { return OfSocket(filepath.Join(dir, SocketName)) }

// OfAddress asks the daemon that serves host:port; token may be empty.
func OfAddress(address, token string) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{}}, base: "http://" + address, where: address, token: token}
}

// Where is whom it asks, for people.
func (c *Client) Where() string { return c.where }

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks how all pipelines do.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	out := &Status{}
	return out, c.ask(ctx, http.MethodGet, Prefix+"/status", nil, out)
}

// Pipeline asks how one does.
func (c *Client) Pipeline(ctx context.Context, name string) (*Pipeline, error) {
	out := &Pipeline{}
	return out, c.ask(ctx, http.MethodGet, of(name, ""), nil, out)
}

// State asks for a part of a running pipeline's state: windows, watermarks or positions.
func (c *Client) State(ctx context.Context, name, part string) (*State, error) {
	out := &State{}
	return out, c.ask(ctx, http.MethodGet, of(name, "/state/"+part), nil, out)
}

// Savepoint has a savepoint made.
func (c *Client) Savepoint(ctx context.Context, name string, s Savepoint) (*state.Manifest, error) {
	out := &state.Manifest{}
	return out, c.ask(ctx, http.MethodPost, of(name, "/savepoints"), s, out)
}

// Explain asks what the window of a step waits for that a moment of event time lies in.
func (c *Client) Explain(ctx context.Context, name, step, at string) (*pipeline.WindowExplanation, error) {
	out := &pipeline.WindowExplanation{}
	return out, c.ask(ctx, http.MethodGet, of(name, "/explain?"+url.Values{"step": {step}, "at": {at}}.Encode()), nil, out)
}

// Tap shows f rows that pass a source or a sink, until ctx is done, f returns an error or the daemon stops.
func (c *Client) Tap(ctx context.Context, name, component string, rate int, f func(pipeline.TapRow) error) error {
	answer, err := c.open(ctx, http.MethodGet, of(name, "/tap?"+url.Values{"component": {component}, "rate": {strconv.Itoa(rate)}}.Encode()), nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := c.bad(answer); err != nil {
		return err
	}
	for d := json.NewDecoder(answer.Body); ; {
		var row pipeline.TapRow
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the daemon at %s has stopped to answer: %w", c.where, err)
		}
		if err := f(row); err != nil {
			return err
		}
	}
}

// Order has the daemon stop, resume or restart a pipeline.
func (c *Client) Order(ctx context.Context, name, verb string) error {
	return c.ask(ctx, http.MethodPost, of(name, "/"+verb), struct{}{}, &struct{}{})
}

// Health asks for /readyz; a daemon that is not ready is no error.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	out := &Health{}
	err := c.ask(ctx, http.MethodGet, "/readyz", nil, out)
	var unready *unready
	if errors.As(err, &unready) {
		return &unready.Health, nil
	}
	return out, err
}

func of(pipeline, rest string) string {
	return Prefix + "/pipelines/" + url.PathEscape(pipeline) + rest
}

// open sends a request; the caller closes the answer's body.
func (c *Client) open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, in)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.where, err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil && nobody(err) {
		return nil, fmt.Errorf("%w at %s: %w", ErrNobody, c.where, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the daemon at %s: %w", c.where, err)
	}
	return answer, nil
}

func (c *Client) ask(ctx context.Context, method, path string, body, out any) error {
	answer, err := c.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := c.bad(answer); err != nil {
		return err
	}
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		return fmt.Errorf("the daemon at %s gives an answer that cannot be read: %w", c.where, err)
	}
	return nil
}

// unready is a Health that came with a 503.
type unready struct{ Health }

func (*unready) Error() string { return "not ready" }

// bad is the error that an answer stands for.
func (c *Client) bad(answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return err
	}
	var told struct {
		Error
		Health
	}
	if json.Unmarshal(text, &told) != nil || told.Message == "" && len(told.NotReady) == 0 {
		return fmt.Errorf("%s answers %s, and not as a daemon does", c.where, answer.Status)
	}
	if told.Message == "" {
		return &unready{told.Health}
	}
	return &told.Error
}
