package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/state"
)

// checkReset refuses names after --allow-reset that are no component's, neither of the pipelines nor in their states.
func (o *runOptions) checkReset(plans []*plan.Plan) error {
	if len(o.reset) == 0 {
		return nil
	}
	if o.state == "" {
		return &exitError{code: exitConfig, err: errors.New("--allow-reset is about a state that there is: name its directory with --state")}
	}
	known := map[string]bool{}
	for _, p := range plans {
		for name := range pipeline.Components(p) {
			known[name] = true
		}
		if _, err := os.Stat(filepath.Join(o.state, p.Name, pipeline.StateFolder)); err != nil {
			continue // there is nothing in it yet
		}
		err := withState(o.state, p.Name, func(_ *state.Store, st *checkpoint.State) error {
			for name := range st.Components {
				known[name] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, name := range o.reset {
		if !known[name] {
			return &exitError{code: exitConfig, err: fmt.Errorf("--allow-reset %s: there is no component of that name, neither in the pipeline nor in the state; there is %s", name, strings.Join(sortedKeys(known), ", "))}
		}
	}
	return nil
}
