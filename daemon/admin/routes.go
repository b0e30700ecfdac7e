package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.livez)
	mux.HandleFunc("GET /healthz", s.livez)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.metrics)
	mux.HandleFunc("GET "+api.Prefix+"/status", s.status)
	one := "GET " + api.Prefix + "/pipelines/{name}"
	mux.HandleFunc(one, s.named(s.pipeline))
	mux.HandleFunc(one+"/state/{part}", s.named(s.state))
	mux.HandleFunc(one+"/explain", s.named(s.explain))
	mux.HandleFunc(one+"/tap", s.named(s.tap))
	mux.HandleFunc("POST "+api.Prefix+"/pipelines/{name}/savepoints", s.named(s.savepoint))
	mux.HandleFunc("POST "+api.Prefix+"/pipelines/{name}/{verb}", s.order)
	if s.set.PProf {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, api.NotFound, fmt.Sprintf("nothing answers %s %s here", r.Method, r.URL.Path))
	})
	return mux
}

// named finds the pipeline that the path names.
func (s *Server) named(f func(w http.ResponseWriter, r *http.Request, p Pipeline)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		all, refused := s.set.Daemon.Pipelines()
		for _, p := range all {
			if p.Name() == r.PathValue("name") {
				f(w, r, p)
				return
			}
		}
		refuse(w, http.StatusNotFound, api.NotFound, NoPipeline(r.PathValue("name"), refused))
	}
}

// NoPipeline says that the daemon has no pipeline of that name, and why, where a file that is called like it was refused.
func NoPipeline(name string, refused []api.Refused) string {
	text := fmt.Sprintf("the daemon has no pipeline %q", name)
	var others []string
	for _, f := range refused {
		if strings.TrimSuffix(filepath.Base(f.File), ".toml") == name {
			return fmt.Sprintf("%s, because its file was refused: %s; mend the file and reload the daemon", text, f.Why)
		}
		if !f.Running {
			others = append(others, f.File)
		}
	}
	if len(others) > 0 {
		text += "; refused were " + strings.Join(others, ", ")
	}
	return text
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	all, refused := s.set.Daemon.Pipelines()
	gauges := s.gauges(r.Context())
	out := api.Status{Version: s.set.Version, PID: os.Getpid(), Started: s.started, Now: s.set.Clock.Now(), Pipelines: []api.Pipeline{}, Refused: refused}
	out.Ready = s.set.Daemon.Starting() == ""
	if out.Refused == nil {
		out.Refused = []api.Refused{}
	}
	for _, f := range refused {
		out.Ready = out.Ready && f.Running
	}
	for _, p := range all {
		one := s.describe(p, gauges)
		out.Ready = out.Ready && one.Ready
		out.Pipelines = append(out.Pipelines, one)
	}
	answer(w, out)
}

func (s *Server) pipeline(w http.ResponseWriter, r *http.Request, p Pipeline) {
	answer(w, s.describe(p, s.gauges(r.Context())))
}

func (s *Server) describe(p Pipeline, gauges []wire.InstanceMetric) api.Pipeline {
	st, sum, now := p.Status(), p.Summary(), s.set.Clock.Now()
	out := api.Pipeline{Name: p.Name(), File: p.File, NotReady: missing(p.Pipeline, gauges), Status: st, Summary: sum,
		PerSecond: s.rates.of(p.Name(), now, sum.In), Watermark: st.Watermark(), Processes: []api.Process{}}
	out.Ready = len(out.NotReady) == 0
	if lag, ok := lagOf(out.Watermark, now); ok {
		out.Lag = &lag
	}
	for _, proc := range s.processes() {
		if proc.Place.Pipeline == p.Name() {
			out.Processes = append(out.Processes, api.Process{Kind: string(proc.Kind), Plugin: proc.Name, Component: proc.Place.Component, Path: proc.Path, PID: proc.PID, Since: proc.Since})
		}
	}
	return out
}

// lagOf is how far a watermark is behind the clock, in seconds. There is none before the first one, and at the end of input.
func lagOf(m pipeline.Moment, now time.Time) (float64, bool) {
	if m == pipeline.Moment(batch.NoWatermark) || m == pipeline.Moment(batch.EndOfInput) {
		return 0, false
	}
	return float64(now.UnixMilli()-int64(m)) / 1000, true
}

func (s *Server) processes() []host.Process {
	if s.set.Processes == nil {
		return nil
	}
	return s.set.Processes()
}

// state reads a part of the state. Every now and then it looks whether somebody still wants to know.
func (s *Server) state(w http.ResponseWriter, r *http.Request, p Pipeline) {
	var out api.State
	err := p.Inspect(r.Context(), func(ctx context.Context, v *state.View, st *checkpoint.State) (err error) {
		out.Checkpoint, out.At = st.Number, time.UnixMilli(st.Time)
		switch r.PathValue("part") {
		case "windows":
			n := 0
			out.Windows, err = checkpoint.OpenWindows(v, st, func() error {
				if n++; n%1024 == 0 {
					return context.Cause(ctx)
				}
				return nil
			})
		case "watermarks":
			out.Watermarks = st.Watermarks()
		case "positions":
			out.Positions = st.Positions()
		default:
			err = &api.Error{Kind: api.NotFound, Message: "a state has windows, watermarks and positions, and no " + r.PathValue("part")}
		}
		return err
	})
	s.tell(w, p, out, err)
}

func (s *Server) explain(w http.ResponseWriter, r *http.Request, p Pipeline) {
	at, err := watermark.ParseTime(r.URL.Query().Get("at"))
	if err != nil {
		refuse(w, http.StatusBadRequest, api.BadInput, err.Error())
		return
	}
	x, err := p.Explain(r.URL.Query().Get("step"), at)
	if err != nil {
		refuse(w, http.StatusNotFound, api.NotFound, err.Error())
		return
	}
	answer(w, x)
}

func (s *Server) savepoint(w http.ResponseWriter, r *http.Request, p Pipeline) {
	var in api.Savepoint
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, api.BadInput, "the request cannot be read: "+err.Error())
		return
	}
	if !filepath.IsAbs(in.To) {
		refuse(w, http.StatusBadRequest, api.BadInput, `"to" has to be an absolute path, which does not exist yet`)
		return
	}
	m, err := p.Savepoint(r.Context(), filepath.Clean(in.To), in.Note)
	if err == nil {
		s.set.Log.Info("a savepoint was made", "pipeline", p.Name(), "to", in.To, "bytes", m.Size())
	}
	s.tell(w, p, m, err)
}

func (s *Server) order(w http.ResponseWriter, r *http.Request) {
	if err := s.set.Daemon.Order(r.Context(), r.PathValue("name"), r.PathValue("verb")); err != nil {
		s.tell(w, Pipeline{}, nil, err)
		return
	}
	answer(w, struct{}{})
}

// tell answers with v, or with what err says.
func (s *Server) tell(w http.ResponseWriter, p Pipeline, v any, err error) {
	var own *api.Error
	var stored *state.Error
	switch {
	case err == nil:
		answer(w, v)
	case errors.As(err, &own):
		status := map[api.Kind]int{api.NotFound: http.StatusNotFound, api.BadInput: http.StatusBadRequest, api.Forbidden: http.StatusForbidden, api.Failed: http.StatusInternalServerError}[own.Kind]
		if status == 0 {
			status = http.StatusConflict
		}
		answerWith(w, status, own)
	case errors.Is(err, pipeline.ErrNotOpen):
		switch st := p.State(); st {
		case pipeline.Finished, pipeline.Stopped, pipeline.Failed:
			refuse(w, http.StatusConflict, api.NotOpen, fmt.Sprintf("pipeline %s is %s", p.Name(), st))
		default:
			refuse(w, http.StatusConflict, api.Restarts, fmt.Sprintf("pipeline %s is %s, and does not have its state open at this moment; ask again", p.Name(), st))
		}
	case errors.As(err, &stored):
		answerWith(w, http.StatusInternalServerError, &api.Error{Message: err.Error(), Kind: api.Failed, Code: string(stored.Kind)})
	default:
		refuse(w, http.StatusInternalServerError, api.Failed, err.Error())
	}
}

func answer(w http.ResponseWriter, v any) { answerWith(w, http.StatusOK, v) }

func refuse(w http.ResponseWriter, status int, kind api.Kind, message string) {
	answerWith(w, status, &api.Error{Message: message, Kind: kind})
}

func answerWith(w http.ResponseWriter, status int, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil { // a value that JSON has no form for: a bug
		http.Error(w, fmt.Sprintf(`{"error": %q, "kind": "failed"}`, err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
