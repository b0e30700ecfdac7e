package sdk

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// protect calls the author's code and turns a panic into an error of one line: what it said, and where.
func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v%s", p, panicPlace())
		}
	}()
	return f()
}

// panicPlace are the functions that were being called when the panic began, innermost first, up to the sdk's own. It is called from the
// deferred function.
func panicPlace() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var places []string
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			panicked = panicked || strings.HasPrefix(f.Function, "runtime.gopanic") || strings.HasPrefix(f.Function, "runtime.sigpanic")
		case panicked && strings.HasPrefix(f.Function, sdkPrefix) || len(places) == 4:
			more = false
		case panicked:
			places = append(places, fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(f.File), f.Line))
		}
		if !more {
			break
		}
	}
	if len(places) == 0 {
		return ""
	}
	return ", in " + strings.Join(places, ", called by ")
}

// sdkPrefix begins the names of this package's functions.
const sdkPrefix = "github.com/tidemark-stream/tidemark/sdk."
