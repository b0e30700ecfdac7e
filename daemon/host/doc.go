// Package host finds, starts, watches and ends plugins.
//
// A [Host] knows the shipped plugins (a value it was given) and looks into plugin directories for executables. It describes them, and opens
// instances: [Plugins.OpenSource] and its kin return the batch-level interfaces of package wire. Above that, a shipped plugin that runs inside
// the daemon and an executable in a process of its own look alike; the choice is made in one place, (*Plugins).open.
//
// Life of a process: the file is checked (there, executable, for this machine, pinned digest); it is started by a goroutine that never
// leaves its OS thread, so that the kernel kills it when the daemon dies (where the kernel can), with a pipe that tells it the same
// (everywhere), while a guard, a process of ours, then kills whatever the plugin itself has started; its first line on standard output is the handshake, everything else it prints goes to the log; from then on it is asked for
// its health again and again. It inherits memory that it shares with the daemon for batches ([wire.Shared]), unless the connection is encrypted. It ends when its instance is closed: it is asked to, and two seconds later its whole process group is killed.
// Its death, or its silence beyond a deadline, ends every call to it with a [*Failure] that says which it was.
//
// A Host is safe for use by several goroutines. Close ends all processes and waits for them.
//
// Restarting is the pipeline's business, since an instance's state is lost with it; [Backoff] says when, and when not any more.
package host
