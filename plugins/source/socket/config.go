package socket

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Config is what stands in the component's table.
type Config struct {
	sdk.Env
	Address        string        `name:"address" help:"host:port, or a socket's path, to connect to; the connection is made again for ever"`
	Listen         string        `name:"listen" help:"host:port, or a socket's path, to take connections or datagrams on"`
	Network        string        `name:"network" default:"tcp" enum:"tcp,unix,udp" help:"udp only with listen"`
	Reconnect      bool          `name:"reconnect" default:"true" help:"with address: false ends the source with its connection"`
	MinBackoff     time.Duration `name:"min_backoff" default:"100ms" help:"pause before the first new try to connect; it doubles, give or take a random half"`
	MaxBackoff     time.Duration `name:"max_backoff" default:"30s" help:"longest pause between tries to connect"`
	IdleTimeout    time.Duration `name:"idle_timeout" default:"0s" help:"a connection on which nothing has come for so long is closed; 0s = never"`
	KeepAlive      time.Duration `name:"keep_alive" default:"15s" help:"tcp: how often a silent peer is asked whether it is still there; 0s = never"`
	MaxConnections int           `name:"max_connections" default:"1024" help:"with listen: more wait until another one ends"`
	Unfinished     string        `name:"unfinished" default:"keep" enum:"keep,reject" help:"a line that has no line end when its peer closes the connection: keep = it is a record; reject = it may have been cut, since the system closes the connections of a killed process in order, too, and goes to the errors port as partial"`
	ReceiveBuffer  sdk.Size      `name:"receive_buffer" default:"4MiB" help:"udp: datagrams that wait in the system, in bytes; the system may have a lower limit"`
	TLS            TLS           `name:"tls" help:"encrypts the connections"`
}

// TLS is the table tls.
type TLS struct {
	Enabled            bool   `name:"enabled" default:"false" help:"true = use TLS"`
	Cert               string `name:"cert" help:"file with this side's certificate, PEM; required with listen"`
	Key                string `name:"key" help:"file with its key, PEM"`
	CA                 string `name:"ca" help:"file with the authorities that the other side's certificate must come from; default with address: the system's; with listen: clients need none"`
	ServerName         string `name:"server_name" help:"with address: the name in the server's certificate; default: the host"`
	InsecureSkipVerify bool   `name:"insecure_skip_verify" default:"false" help:"with address: take any certificate"`
}

// Validate is called when the pipeline file is read.
func (c *Config) Validate() error {
	switch {
	case c.Address == "" && c.Listen == "":
		return sdk.BadOption("a socket needs an address to connect to, or one to listen on: address = \"localhost:9999\" or listen = \":9999\"")
	case c.Address != "" && c.Listen != "":
		return sdk.BadOption("a socket either connects or listens; drop address or listen", "listen")
	case c.Network == "udp" && c.Listen == "":
		return sdk.BadOption("udp has no connections; use listen instead of address", "network")
	case c.TLS.Enabled && c.Network == "udp":
		return sdk.BadOption("udp has no TLS", "tls", "enabled")
	case c.TLS.Enabled && c.Listen != "" && c.TLS.Cert == "":
		return sdk.BadOption("a listener needs a certificate", "tls", "cert")
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return sdk.BadOption("cert and key belong together", "tls", "cert")
	case c.MaxConnections < 1:
		return sdk.BadOption(fmt.Sprintf("%d is not at least 1", c.MaxConnections), "max_connections")
	case c.MinBackoff <= 0:
		return sdk.BadOption("a pause of 0 would try at full speed", "min_backoff")
	case c.MaxBackoff < c.MinBackoff:
		return sdk.BadOption(fmt.Sprintf("%s is below min_backoff, %s", c.MaxBackoff, c.MinBackoff), "max_backoff")
	case c.IdleTimeout < 0:
		return sdk.BadOption("negative", "idle_timeout")
	case c.KeepAlive < 0:
		return sdk.BadOption("negative", "keep_alive")
	case c.ReceiveBuffer < 1 || c.ReceiveBuffer > 1<<30:
		return sdk.BadOption("must be between 1 and 1GiB", "receive_buffer")
	}
	if c.Network == "unix" {
		return nil
	}
	option, address := "address", c.Address
	if c.Listen != "" {
		option, address = "listen", c.Listen
	}
	if host, port, err := net.SplitHostPort(address); err != nil || port == "" {
		hint := "write \"host:port\""
		if strings.HasPrefix(address, "/") || strings.HasPrefix(address, ".") {
			hint = "for the path of a socket write network = \"unix\""
		}
		return sdk.BadOption(fmt.Sprintf("%q has no port; %s", address, hint), option)
	} else if option == "address" && host == "" {
		return sdk.BadOption(fmt.Sprintf("%q has no host; write \"localhost:%s\"", address, port), option)
	}
	if err := sdk.CheckHostPort(address, option == "listen"); err != nil {
		return sdk.BadOption(err.Error(), option)
	}
	return nil
}

// clientTLS is nil without TLS.
func (c *Config) clientTLS() (*tls.Config, error) {
	if !c.TLS.Enabled {
		return nil, nil
	}
	t := &tls.Config{ServerName: c.TLS.ServerName, InsecureSkipVerify: c.TLS.InsecureSkipVerify, MinVersion: tls.VersionTLS12}
	if t.ServerName == "" {
		t.ServerName, _, _ = net.SplitHostPort(c.Address)
	}
	var err error
	if t.RootCAs, err = c.authorities(); err != nil {
		return nil, err
	}
	if t.Certificates, err = c.certificates(); err != nil {
		return nil, err
	}
	return t, nil
}

// serverTLS is nil without TLS.
func (c *Config) serverTLS() (*tls.Config, error) {
	if !c.TLS.Enabled {
		return nil, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if t.Certificates, err = c.certificates(); err != nil {
		return nil, err
	}
	if t.ClientCAs, err = c.authorities(); err != nil {
		return nil, err
	}
	if t.ClientCAs != nil {
		t.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return t, nil
}

func (c *Config) certificates() ([]tls.Certificate, error) {
	if c.TLS.Cert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.TLS.Cert, c.TLS.Key)
	if err != nil {
		return nil, fmt.Errorf("load certificate %s: %w", c.TLS.Cert, err)
	}
	return []tls.Certificate{cert}, nil
}

func (c *Config) authorities() (*x509.CertPool, error) {
	if c.TLS.CA == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.TLS.CA)
	if err != nil {
		return nil, fmt.Errorf("load authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", c.TLS.CA)
	}
	return pool, nil
}
