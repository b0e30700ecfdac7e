// Package config turns the text of a pipeline's file, or of the daemon's own, into a typed value.
//
// Every mistake becomes a [problem.Problem] with the line, the column, the line's text and a way to mend it, and all mistakes of a
// file are told at once: a wrong value is reported and its default taken, so that the rest can be checked too. Even lines that are
// not TOML are left out and the rest is read, as long as that cannot lead to wrong complaints.
//
// Three ideas:
//
//   - The TOML library checks the text and decodes it, but says nothing about where things stand. A small scanner walks the same
//     text and notes the place of every key and value (scan.go); both together make a tree of [Value] (value.go).
//   - [Keys] describes every key: type, default, bounds, meaning, example. The readers take defaults and checks from it, and
//     docs/reference/pipeline.md is written from it.
//   - The tables of components are open: what the pipeline does not know itself is left in Options for the plugin, and checked by
//     package plan, which knows what plugins take.
//
// Strings may hold ${NAME} or ${NAME:-default} for environment variables ($${ is a plain ${). What came from the environment is
// never shown in plans and messages, which print what the file says.
//
// What the names in a file mean together (inputs that do not exist, cycles, fields, promises of sinks) is the business of package plan.
//
//	c, problems := config.Load("clicks.toml")
//	if problems.HasErrors() {
//		return problems.Err() // *problem.Errors: prints, and marshals to JSON
//	}
//
// A Config is read-only once it has been made, and may then be used by many goroutines.
package config
