package pipeline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/plan"
)

// Balance is the account of one component: what came to it, and what became of that. The parts add up to In (invariant I5).
type Balance struct {
	Component string        `json:"component"`
	Kind      string        `json:"kind"` // source, a step's type, or sink
	In        int64         `json:"in"`
	Before    int64         `json:"waited_before,omitempty"` // of these, what waited for the sink from before
	Parts     []BalancePart `json:"parts"`
}

// BalancePart is what became of a part of the rows.
type BalancePart struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

func (b Balance) String() string {
	var parts []string
	for i, p := range b.Parts {
		if p.Rows != 0 || i == 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.Rows, p.Name))
		}
	}
	before := ""
	if b.Before > 0 {
		before = fmt.Sprintf(" (%d had been waiting)", b.Before)
	}
	return fmt.Sprintf("%s %s: %d in%s = %s", b.Kind, b.Component, b.In, before, strings.Join(parts, " + "))
}

// UnderWay is what has come and has not become anything yet: more than nothing only before the end, or when that was a failure.
func (b Balance) UnderWay() int64 {
	n := b.In
	for _, p := range b.Parts {
		n -= p.Rows
	}
	return n
}

func (b *Balance) part(name string, rows int64) {
	b.Parts = append(b.Parts, BalancePart{name, rows})
}

// closed reports what is wrong with the account by itself.
func (b Balance) closed() error {
	sum := int64(0)
	for _, p := range b.Parts {
		sum += p.Rows
		if p.Rows < 0 {
			return fmt.Errorf("the balance of %s does not close: %d rows too few came", b, -p.Rows)
		}
	}
	if sum != b.In {
		return fmt.Errorf("the balance of %s does not close: that is %d", b, sum)
	}
	return nil
}

// balances makes the accounts. What came to a component is what those before it say they gave, so each account also closes what lies
// between two components; what became of it is what the component itself says.
func (s *Summary) balances(p *plan.Plan) []Balance {
	out, gave := []Balance{}, map[string]map[plan.Port]int64{}
	arrived := func(inputs []plan.Input) (n int64) {
		for _, in := range inputs {
			n += gave[in.From][in.Port]
		}
		return n
	}
	for i, src := range p.Sources {
		e := entry(&s.Sources, func(e *SourceSummary) *string { return &e.Name }, src.Name)
		gave[src.Name] = map[plan.Port]int64{plan.Main: e.Out, plan.Errors: e.Rejected}
		b := Balance{Component: src.Name, Kind: "source", In: e.In}
		b.part("passed on", e.Out)
		b.part("rejected", e.Rejected)
		if a := p.Sources[i].Assigner; a == nil || !a.Keep { // kept markers are records like others
			b.part("markers", e.Markers)
		}
		out = append(out, b)
	}
	for _, st := range p.Steps {
		e := entry(&s.Steps, func(e *StepSummary) *string { return &e.Name }, st.Name)
		gave[st.Name] = map[plan.Port]int64{plan.Main: e.Out, plan.Errors: e.Rejected, plan.Late: e.Late}
		if st.Fold != nil {
			gave[st.Fold.Of][plan.Errors] += e.Rejected
		}
		b := Balance{Component: st.Name, Kind: st.Type, In: arrived(st.Inputs)}
		switch {
		case st.Plugin != nil: // a plugin may make any number of rows of one
			b.part("given to the plugin", e.In)
			b.part("rejected before it", b.In-e.In)
		case st.Unnest != nil:
			b.part("taken apart", b.In-e.Rejected)
			b.part("rejected", e.Rejected)
		case st.Window != nil:
			b.part("windowed", e.In-e.Late-e.Silent)
			b.part("late", e.Late)
			b.part("without a window", e.Silent)
			b.part("rejected", e.Rejected)
		default:
			b.part("passed on", e.Out)
			b.part("filtered", e.Filtered)
			b.part("rejected", e.Rejected)
		}
		out = append(out, b)
	}
	for _, k := range p.Sinks {
		e := entry(&s.Sinks, func(e *SinkSummary) *string { return &e.Name }, k.Name)
		b := Balance{Component: k.Name, Kind: "sink", In: arrived(k.Inputs) + e.Resumed, Before: e.Resumed}
		b.part("delivered", e.Rows)
		b.part("refused", e.Refused)
		b.part("waiting", e.Waiting)
		out = append(out, b)
	}
	return out
}

// Check compares what came in with what became of it (I5), for each component and between them. It holds when a pipeline has finished and
// nothing is in flight. An attempt begins with nothing in flight but what waits for sinks, which the accounts know, so they close after
// any number of restarts as well.
func (s *Summary) Check() error {
	var errs []error
	for _, b := range s.Balance {
		errs = append(errs, b.closed())
	}
	return errors.Join(errs...)
}
