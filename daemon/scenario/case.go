package scenario

import (
	"time"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// File is a file of test cases.
type File struct {
	Path     string
	Pipeline string            // path of the pipeline's file
	Env      map[string]string // environment variables that the pipeline sees, before the process's own
	Cases    []*Case
}

// Case is one test.
type Case struct {
	Name       string
	At         problem.Place
	Clock      time.Time           // where the clock stands at the beginning
	Order      Order               // how expected rows are compared, where an expectation does not say
	Partitions map[string][]string // by source: partitions that are there from the beginning
	Steps      []*Step
	Expect     []*Expectation // at the end, of everything that has come out in the case
}

// Order says how rows are compared.
type Order string

// The orders.
const (
	AsEmitted Order = "emitted" // row by row; rows of one step of a sink with several inputs come in any order
	AnyOrder  Order = "any"     // the same rows, each as often
)

// Action is what a step does.
type Action string

// The actions.
const (
	Rows       Action = "rows"       // records come in
	Watermark  Action = "watermark"  // a source says how far it is
	Advance    Action = "advance"    // the clock moves on, and what falls due on the way happens
	Idle       Action = "idle"       // a source says that a partition has nothing to say for now
	Checkpoint Action = "checkpoint" // a commit is made now
	Crash      Action = "crash"      // the process dies, and another one goes on from the last commit
	Restart    Action = "restart"    // an orderly stop and start
	End        Action = "end"        // a source, or a partition of it, has ended
	Expect     Action = "expect"     // what must have come out since the last time it was looked at
)

// Actions are all actions, in the order of the documentation.
var Actions = []Action{Rows, Watermark, Advance, Idle, Checkpoint, Crash, Restart, End, Expect}

// Step is one thing that happens.
type Step struct {
	Action    Action
	At        problem.Place
	Source    string // "" = every source (end), or the only one
	Partition string // "" = the source's first

	Rows      []*config.Value
	Times     []*config.Value // of the rows, for sources that bring timestamps
	Watermark int64
	Advance   time.Duration
	Expect    []*Expectation
}

// Expectation is what a component must have given.
type Expectation struct {
	Component string // a sink; or a source or transform, of which a copy of the port is looked at
	Port      string // "", "errors" or "late"
	At        problem.Place
	Rows      []*config.Value // strings or tables
	Order     Order           // "" = the case's
}

// Name is the component with its port.
func (e *Expectation) Name() string {
	if e.Port == "" {
		return e.Component
	}
	return e.Component + "." + e.Port
}
