package pipeline

import "context"

// admit is asked before each batch: it returns when there is room for more input, see gate. As a rule there is, and then nothing is
// allocated.
func (a *attempt) admit(ctx context.Context) error {
	if a.budget.Open() && a.log.Open() {
		return nil
	}
	return a.gate(ctx)
}
