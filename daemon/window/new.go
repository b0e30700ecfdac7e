package window

import (
	"errors"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
)

// New makes one shard of an operator, with the engine of panes where that does the job and the general one elsewhere. layout is the operator's template, which the shards share; out is where this shard emits. The
// error joins the mistakes of [Spec.Check].
func New(spec Spec, layout *aggregate.Layout, env Env, out *Output) (Operator, error) {
	if mistakes := spec.Check(); len(mistakes) > 0 {
		var errs []error
		for _, m := range mistakes {
			errs = append(errs, m)
		}
		return nil, errors.Join(errs...)
	}
	if spec = spec.Settled(); panesCanDo(spec, env) {
		return newPanes(spec, layout, env, out), nil
	}
	g := newGeneral(spec, layout, env, out)
	if isKeyed(&spec) {
		return keyed{g}, nil
	}
	return g, nil
}

// StateFormat names the form in which the operator of a Spec stores its windows. Operators with different formats cannot take each
// other's state: whoever restores compares first, since a change of settings may change the engine.
func StateFormat(spec Spec, env Env) string {
	if panesCanDo(spec.Settled(), env) {
		return "panes"
	}
	return "windows"
}
