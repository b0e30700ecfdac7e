// Package api holds what the admin address and those who ask it say to each other: the JSON shapes, the paths, and a [Client].
//
// The paths begin with [Prefix], whose number changes when a shape changes so that older clients would misread it. New fields may come at any
// time.
package api

import (
	"time"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

// Prefix begins all paths except those for health, metrics and profiles.
const Prefix = "/api/v1"

// SocketName is the Unix socket in the daemon's state directory, unless the daemon's file says otherwise.
const SocketName = "admin.sock"

// Status is the daemon at a glance: GET /api/v1/status.
type Status struct {
	Version   string     `json:"version"`
	PID       int        `json:"pid"`
	Started   time.Time  `json:"started"`
	Now       time.Time  `json:"now"`
	Ready     bool       `json:"ready"`
	Pipelines []Pipeline `json:"pipelines"`
	Refused   []Refused  `json:"refused"` // files with mistakes
}

// Refused is a pipeline's file that cannot be used.
type Refused struct {
	File    string `json:"file"`
	Why     string `json:"why"`
	Running bool   `json:"running"` // an older version of it goes on
}

// Pipeline is one pipeline of the daemon: also GET /api/v1/pipelines/NAME.
type Pipeline struct {
	Name      string           `json:"name"`
	File      string           `json:"file"`
	Ready     bool             `json:"ready"`
	NotReady  []string         `json:"not_ready,omitempty"` // why, a sentence each
	PerSecond float64          `json:"records_per_second"`  // over the last seconds
	Watermark pipeline.Moment  `json:"watermark"`           // the lowest of its sources that are at work
	Lag       *float64         `json:"lag_seconds,omitempty"`
	Status    pipeline.Status  `json:"status"`
	Summary   pipeline.Summary `json:"summary"`
	Processes []Process        `json:"processes"`
}

// Process is a running plugin process.
type Process struct {
	Kind      string    `json:"kind"`
	Plugin    string    `json:"plugin"`
	Component string    `json:"component"`
	Path      string    `json:"path"`
	PID       int       `json:"pid"`
	Since     time.Time `json:"since"`
}

// State is what a running pipeline's last commit holds; one of the lists is filled in: GET /api/v1/pipelines/NAME/state/PART with PART one of
// windows, watermarks and positions.
type State struct {
	Checkpoint uint64                          `json:"checkpoint"` // its number
	At         time.Time                       `json:"at"`
	Windows    []checkpoint.OpenWindow         `json:"windows,omitempty"`
	Watermarks []checkpoint.ComponentWatermark `json:"watermarks,omitempty"`
	Positions  []checkpoint.SourcePosition     `json:"positions,omitempty"`
}

// Savepoint asks for one: POST /api/v1/pipelines/NAME/savepoints, which answers with the manifest.
type Savepoint struct {
	To   string `json:"to"` // an absolute path on the daemon's machine that does not exist
	Note string `json:"note,omitempty"`
}

// Health answers /livez and /readyz. The latter's status is 503 while something is missing.
type Health struct {
	Ready    bool     `json:"ready"`
	NotReady []string `json:"not_ready,omitempty"` // PIPELINE: what is missing, a sentence each
}

// Kind tells errors apart that callers treat differently.
type Kind string

const (
	NotFound  Kind = "not_found" // no pipeline, or no component, of that name
	NotOpen   Kind = "not_open"  // the pipeline does not have its state open now: its directory can be looked into, unless it starts again meanwhile
	Restarts  Kind = "restarts"  // the pipeline is between two attempts: ask again
	Forbidden Kind = "forbidden" // the token is missing or wrong, or the address only answers questions
	BadInput  Kind = "bad_input" // the request is wrong
	Failed    Kind = "failed"    // it was tried, and failed
)

// Error is every answer that is not a good one, beside its HTTP status.
type Error struct {
	Message string `json:"error"`
	Kind    Kind   `json:"kind"`
	Code    string `json:"code,omitempty"` // TMxxxx, of errors of the state
}

func (e *Error) Error() string { return e.Message }
