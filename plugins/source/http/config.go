package http

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Config is what stands in the component's table.
type Config struct {
	sdk.Env
	Listen        string        `name:"listen" required:"true" help:"host:port to listen on, for instance \"127.0.0.1:8080\""`
	Path          string        `name:"path" default:"/" help:"the path that takes records; others are not found"`
	Token         string        `name:"token" help:"a secret that requests have to bring: Authorization: Bearer …"`
	Answer        string        `name:"answer" default:"committed" enum:"committed,received" help:"when a request is answered: committed = its records are safe, and the answer says of each that the pipeline has refused why; received = at once, and a crash may lose them"`
	AnswerTimeout time.Duration `name:"answer_timeout" default:"30s" help:"with answer = \"committed\": a request that is not committed by then is answered with 503"`
	Check         string        `name:"check" default:"auto" enum:"auto,json,none" help:"json: lines that are no JSON are refused before they go to the pipeline; none: by the pipeline alone, which an answer at once does not wait for; auto: json where the pipeline decodes JSON"`
	MaxBody       sdk.Size      `name:"max_body" default:"10MiB" help:"largest body, after unpacking"`
	MaxWaiting    int           `name:"max_waiting" default:"64" help:"requests that may wait for the pipeline; more are answered with 429"`
	TLS           TLS           `name:"tls" help:"encrypts the connections"`
}

// TLS is the table tls.
type TLS struct {
	Cert string `name:"cert" help:"file with the server's certificate, PEM; without one there is no TLS"`
	Key  string `name:"key" help:"file with its key, PEM"`
}

// Validate is called when the pipeline file is read.
func (c *Config) Validate() error {
	if _, port, err := net.SplitHostPort(c.Listen); err != nil || port == "" {
		return sdk.BadOption(fmt.Sprintf("%q has no port; write \"127.0.0.1:8080\"", c.Listen), "listen")
	}
	if err := sdk.CheckHostPort(c.Listen, true); err != nil {
		return sdk.BadOption(err.Error(), "listen")
	}
	switch {
	case !strings.HasPrefix(c.Path, "/"):
		return sdk.BadOption(fmt.Sprintf("%q does not begin with \"/\"", c.Path), "path")
	case c.MaxBody < 1 || c.MaxBody > 1<<30:
		return sdk.BadOption("must be between 1 and 1GiB", "max_body")
	case c.MaxWaiting < 1:
		return sdk.BadOption(fmt.Sprintf("%d is not at least 1", c.MaxWaiting), "max_waiting")
	case c.AnswerTimeout <= 0:
		return sdk.BadOption("must be above 0", "answer_timeout")
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return sdk.BadOption("cert and key belong together", "tls", "cert")
	}
	return nil
}

func (c *Config) tls() (*tls.Config, error) {
	if c.TLS.Cert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.TLS.Cert, c.TLS.Key)
	if err != nil {
		return nil, fmt.Errorf("load certificate %s: %w", c.TLS.Cert, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// Plugin is the source.
func Plugin() sdk.Plugin {
	return sdk.NewSource("http", "takes records that are sent with POST",
		func(c Config) (sdk.Source[[]byte], error) { return newSource(c), nil }, sdk.NotReplayable(), sdk.TakesRefusals())
}
