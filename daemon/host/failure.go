package host

import (
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/sdk"
)

// Reason says what happened to a plugin.
type Reason string

const (
	NotExecutable Reason = "not_executable" // the file cannot be run here
	WrongDigest   Reason = "wrong_digest"   // it is not the file that was pinned
	NotAPlugin    Reason = "not_a_plugin"   // it runs, and does not answer like a plugin
	WrongVersion  Reason = "wrong_version"  // it speaks another version of the protocol
	StartTimeout  Reason = "start_timeout"  // it has not answered in time
	StartFailed   Reason = "start_failed"   // it ended before it was ready
	Died          Reason = "died"           // the process ended
	Hung          Reason = "hung"           // it did not answer any more, and was killed
	BrokeProtocol Reason = "broke_protocol" // it answered something that cannot be
)

var reasonCodes = map[Reason]string{
	NotExecutable: "TM4101", WrongDigest: "TM4102", NotAPlugin: "TM4103", WrongVersion: "TM4104", StartTimeout: "TM4105", StartFailed: "TM4106",
	Died: "TM4107", Hung: "TM4108", BrokeProtocol: "TM4109",
}

// Failure says what happened to a plugin's process. It is final for that process.
type Failure struct {
	Kind   sdk.Kind
	Name   string
	Path   string // the executable
	Reason Reason
	Detail string   // what was seen
	Hint   string   // how to mend it, or ""
	Tail   []string // the last lines it wrote to standard error
	Err    error    // what the call returned, if there was one
}

func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plugin %s (%s, %s): %s", f.Name, f.Kind, f.Path, f.Detail)
	if len(f.Tail) > 0 {
		fmt.Fprintf(&b, "; its last words: %s", strings.Join(f.Tail, " | "))
	}
	if f.Hint != "" {
		fmt.Fprintf(&b, "; %s", f.Hint)
	}
	return b.String()
}

func (f *Failure) Unwrap() error { return f.Err }

// Problem is the failure as a problem; the caller adds a place.
func (f *Failure) Problem() problem.Problem {
	p := problem.Problem{Code: reasonCodes[f.Reason], Summary: fmt.Sprintf("plugin %s (%s, %s): %s", f.Name, f.Kind, f.Path, f.Detail), Hint: f.Hint}
	if len(f.Tail) > 0 {
		p.Summary += "; its last words: " + strings.Join(f.Tail, " | ")
	}
	return p
}
