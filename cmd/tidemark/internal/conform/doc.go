// Package conform tries an executable as the daemon would use it, for `tidemark plugins verify`.
//
// Two things are tried from outside, with a process of their own each: that it refuses to run by hand, and that it ends when the daemon is
// gone ([byHand], [ends]). Everything else is the kit of sdk/sdktest over each plugin that the executable serves. What is found is data; the
// verb prints it.
package conform
