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

// Count raises a counter that shows on the daemon's /metrics, with the plugin's name in front.
func (e Env) Count(name, help string, n float64) { e.metrics.Add(name, help, n) }

// Gauge sets a gauge that shows on the daemon's /metrics.
func (e Env) Gauge(name, help string, v float64) { e.metrics.Set(name, help, v) }
