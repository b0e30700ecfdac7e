package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// explainUsage has every verb below cmd say what it takes when it is given something else.
func explainUsage(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		explainUsage(sub)
	}
	check := cmd.Args
	switch {
	case cmd.HasSubCommands():
		cmd.Args = knownVerb
	case check != nil:
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check(cmd, args) == nil {
				return nil
			}
			return wrongUsage(cmd, args)
		}
	}
}

// wrongUsage is the answer to too few or too many arguments.
func wrongUsage(cmd *cobra.Command, args []string) error {
	given := "nothing was given"
	if len(args) > 0 {
		given = fmt.Sprintf("%q was given", strings.Join(args, " "))
	}
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	return &exitError{code: exitConfig, err: fmt.Errorf("it is `%s`, and %s; see `%s --help`", use, given, cmd.CommandPath())}
}

// knownVerb refuses words that are no verb, and names those that are nearly so.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := cmd.SuggestionsFor(args[0])
	if len(near) == 0 {
		return &exitError{code: exitConfig, err: fmt.Errorf("unknown command %q; `%s --help` lists them", args[0], cmd.CommandPath())}
	}
	return &exitError{code: exitConfig, err: fmt.Errorf("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))}
}

// missingFlags is how the library says that required flags were not given: it tells that after our functions have been asked.
var missingFlags = regexp.MustCompile(`^required flag\(s\) (.+) not set$`)

// ownWords turns the library's own complaints into ours.
func ownWords(err error) error {
	var known *exitError
	if err == nil || errors.As(err, &known) {
		return err
	}
	found := missingFlags.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	var flags []string
	for _, name := range strings.Split(found[1], ", ") {
		flags = append(flags, "--"+strings.Trim(name, `"`))
	}
	verb := "is"
	if len(flags) > 1 {
		verb = "are"
	}
	return &exitError{code: exitConfig, err: fmt.Errorf("%s %s missing; see --help", strings.Join(flags, " and "), verb)}
}

// counted writes a number of things, with commas in it.
func counted[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}
