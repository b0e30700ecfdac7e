package state

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	cockroach "github.com/cockroachdb/errors"
	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Kind is what went wrong with a store, for errors.Is. Each has a stable code.
type Kind string

const (
	InUse        Kind = "TM6001" // another process has it open
	Unwritable   Kind = "TM6002" // permission, read-only file system, a file in the way
	Damaged      Kind = "TM6003" // a file is not what was written
	TooNew       Kind = "TM6004" // a newer Tidemark wrote it
	Incompatible Kind = "TM6005" // another pipeline, or one changed beyond what the state can serve
	NoSpace      Kind = "TM6006" // the disk is full
	Foreign      Kind = "TM6007" // a directory that holds something else
	Missing      Kind = "TM6008" // nothing there, or a part of it gone
	Broken       Kind = "TM6009" // an I/O error in the middle of work: close, mend, open again
	BadSavepoint Kind = "TM6010" // a savepoint that is incomplete or changed
	BadJournal   Kind = "TM6011" // a journal segment that is not what was written
)

// Error makes Kind a target of errors.Is.
func (k Kind) Error() string { return string(k) }

// Error is what every failing call of this package, of journal and of deadletter answers with, except when a context ended.
type Error struct {
	Kind    Kind
	Path    string // the file or directory
	Summary string // what is wrong, one line
	Hint    string // what to do
	Err     error  // the cause, or nil
}

func (e *Error) Error() string { return e.Problem().Error() }

func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// Problem is the error as people, tests and --json see it.
func (e *Error) Problem() problem.Problem {
	summary := e.Summary
	if e.Err != nil {
		summary += ": " + cause(e.Err)
	}
	return problem.Problem{Code: string(e.Kind), Place: problem.Place{File: e.Path}, Summary: summary, Hint: e.Hint}
}

// cause is the text of an error without the paths that Error names already.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Op + " " + path.Path + ": " + path.Err.Error()
	}
	text := err.Error()
	if details := cockroach.FlattenDetails(err); details != "" { // the database tells file and offset there
		text += " (" + strings.ReplaceAll(details, "\n", " ") + ")"
	}
	return text
}

// Classify turns an error of the file system or of the database, met while doing something to path, into an *Error. An *Error, and nil,
// pass unchanged.
func Classify(err error, path, doing string) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &Error{Path: path, Summary: doing, Err: err}
	var at *fs.PathError
	if errors.As(err, &at) && at.Path != "" {
		e.Path = at.Path
	}
	switch {
	case vfs.IsNoSpaceError(err):
		e.Kind, e.Hint = NoSpace, "free some space; nothing that was committed is lost"
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		e.Kind = Missing
		e.Hint = "the database inside this state directory is gone; restore a savepoint with `tidemark savepoint restore`, or remove the directory to start from nothing"
	case pebble.IsCorruptionError(err):
		e.Kind, e.Hint = Damaged, damagedHint
	case readOnlyError(err) || oserror.IsPermission(err):
		e.Kind, e.Hint = Unwritable, unwritableHint()
	case oserror.IsNotExist(err):
		e.Kind = Damaged
		e.Hint = "a file of the state directory is gone; restore a savepoint with `tidemark savepoint restore`"
	default:
		e.Kind, e.Hint = Broken, "see the cause; the state is as it was at the last commit and is read again by a restart"
	}
	return e
}

const damagedHint = "restore a savepoint with `tidemark savepoint restore`; to start from nothing, move the directory away yourself"

func newError(kind Kind, path, hint, format string, args ...any) *Error {
	return &Error{Kind: kind, Path: path, Hint: hint, Summary: fmt.Sprintf(format, args...)}
}
