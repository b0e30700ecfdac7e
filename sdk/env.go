package sdk

import (
	"github.com/hashicorp/go-hclog"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Env is the plugin's surroundings. A config struct that embeds it finds it filled in when the factory is called:
//
//	type Config struct {
//		sdk.Env
//		Max time.Duration `name:"max" default:"5s" help:"…"`
//	}
//
// It is not an option, and its zero value works: it logs nothing and keeps no metrics.
type Env struct {
	log     hclog.Logger
	metrics *wire.Metrics
	place   wire.Place
}

// Logger writes structured lines to the daemon's log, with the plugin's name and component.
func (e Env) Logger() hclog.Logger {
	if e.log == nil {
		return hclog.NewNullLogger()
	}
	return e.log
}

// Pipeline and Component are the names in the pipeline file.
func (e Env) Pipeline() string  { return e.place.Pipeline }
func (e Env) Component() string { return e.place.Component }

// Store names the pipeline's state store. Row numbers mean something only within one: a sink that finds its books kept for another
// store begins anew.
func (e Env) Store() string { return e.place.Store }

// Count raises a counter that shows on the daemon's /metrics as tidemark_plugin_PLUGIN_NAME. labels are names and values in turn, as with the
// logger:
//
//	c.Count("requests_total", "Requests to the shop.", 1, "code", "404")
//
// Each combination of values is a series that lasts, so they must be few: an instance has 100 of a metric, and counts what comes beyond under the
// value "other", with a warning in the log. The daemon adds the labels pipeline and component.
func (e Env) Count(name, help string, n float64, labels ...string) {
	e.metrics.Add(name, help, n, labels...)
}

// Gauge sets a gauge that shows on the daemon's /metrics; labels are as in [Env.Count], but that what comes beyond 100 is left out.
func (e Env) Gauge(name, help string, v float64, labels ...string) {
	e.metrics.Set(name, help, v, labels...)
}
