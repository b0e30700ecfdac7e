package pipeline

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// structured is an hclog.Logger, which plugins bring along, as the standard library's, which the packages below take.
func structured(l hclog.Logger) *slog.Logger { return slog.New(slogHandler{l}) }

type slogHandler struct{ log hclog.Logger }

func (h slogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.log.GetLevel() <= hclogLevel(level)
}

func (h slogHandler) Handle(_ context.Context, r slog.Record) error {
	var args []any
	r.Attrs(func(a slog.Attr) bool {
		args = append(args, a.Key, a.Value.Resolve().Any())
		return true
	})
	h.log.Log(hclogLevel(r.Level), r.Message, args...)
	return nil
}

func (h slogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var args []any
	for _, a := range attrs {
		args = append(args, a.Key, a.Value.Resolve().Any())
	}
	return slogHandler{h.log.With(args...)}
}

func (h slogHandler) WithGroup(name string) slog.Handler { return slogHandler{h.log.Named(name)} }

func hclogLevel(l slog.Level) hclog.Level {
	switch {
	case l < slog.LevelInfo:
		return hclog.Debug
	case l < slog.LevelWarn:
		return hclog.Info
	case l < slog.LevelError:
		return hclog.Warn
	default:
		return hclog.Error
	}
}
