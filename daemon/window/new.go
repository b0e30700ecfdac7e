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
	if panesCanDo(spec, env) {
		return newPanes(spec, layout, env, out), nil
	}
	return newGeneral(spec, layout, env, out), nil
}
