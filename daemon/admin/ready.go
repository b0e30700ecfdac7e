package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// askPlugins is how long plugins have to say what their gauges are. One that does not answer is its supervisor's business.
const askPlugins = time.Second

// gauges are the plugins' metrics, of all pipelines.
func (s *Server) gauges(ctx context.Context) []wire.InstanceMetric {
	if s.set.Metrics == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askPlugins)
	defer cancel()
	return s.set.Metrics(ctx)
}

// missing says what a pipeline lacks to be ready.
func missing(p *pipeline.Pipeline, gauges []wire.InstanceMetric) []string {
	why := p.NotReady()
	if p.State() != pipeline.Running {
		return why
	}
	for _, m := range gauges {
		if m.Place.Pipeline != p.Name() || m.Value != 0 || !m.Gauge {
			continue
		}
		switch m.Name {
		case sdk.Listening:
			why = append(why, fmt.Sprintf("%s %s does not listen yet", m.Kind, m.Place.Component))
		case sdk.Connected:
			why = append(why, fmt.Sprintf("%s %s is not connected", m.Kind, m.Place.Component))
		case sdk.Found:
			why = append(why, fmt.Sprintf("%s %s finds nothing to read", m.Kind, m.Place.Component))
		}
	}
	return why
}

// health is what /readyz says.
func (s *Server) health(ctx context.Context) api.Health {
	all, refused := s.set.Daemon.Pipelines()
	var why []string
	if text := s.set.Daemon.Starting(); text != "" {
		why = append(why, text)
	}
	for _, r := range refused {
		if !r.Running {
			why = append(why, "refused: "+r.Why)
		}
	}
	gauges := s.gauges(ctx)
	for _, p := range all {
		for _, text := range missing(p.Pipeline, gauges) {
			why = append(why, p.Name()+": "+text)
		}
	}
	return api.Health{Ready: len(why) == 0, NotReady: why}
}

func (s *Server) livez(w http.ResponseWriter, _ *http.Request) { answer(w, api.Health{Ready: true}) }

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	h := s.health(r.Context())
	if !h.Ready {
		answerWith(w, http.StatusServiceUnavailable, h)
		return
	}
	answer(w, h)
}
