package sdk

import (
	"time"

	"github.com/hashicorp/go-hclog"
)

// readable is a logger whose lines travel as JSON and are read by people: durations go as they are written, and not as so many nanoseconds.
type readable struct{ hclog.Logger }

func (r readable) Log(level hclog.Level, message string, args ...any) {
	if level >= r.GetLevel() {
		r.Logger.Log(level, message, asText(args)...)
	}
}

func (r readable) Trace(message string, args ...any) { r.Log(hclog.Trace, message, args...) }
func (r readable) Debug(message string, args ...any) { r.Log(hclog.Debug, message, args...) }
func (r readable) Info(message string, args ...any)  { r.Log(hclog.Info, message, args...) }
func (r readable) Warn(message string, args ...any)  { r.Log(hclog.Warn, message, args...) }
func (r readable) Error(message string, args ...any) { r.Log(hclog.Error, message, args...) }

func (r readable) With(args ...any) hclog.Logger       { return readable{r.Logger.With(asText(args)...)} }
func (r readable) Named(name string) hclog.Logger      { return readable{r.Logger.Named(name)} }
func (r readable) ResetNamed(name string) hclog.Logger { return readable{r.Logger.ResetNamed(name)} }

// asText replaces durations by their text; what the caller has given stays as it is.
func asText(args []any) []any {
	out := append([]any(nil), args...)
	for i, a := range out {
		if d, ok := a.(time.Duration); ok {
			out[i] = d.String()
		}
	}
	return out
}
