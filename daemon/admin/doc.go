// Package admin answers questions about a running daemon over HTTP: is it alive, is it ready, what do its pipelines do, what is in their state,
// what do its metrics say. A few requests have something done: a savepoint, a pipeline stopped or started.
//
// # Where
//
// A Unix socket in the state directory, which only the daemon's user can reach, and a TCP address if the daemon's file names one. Who reaches the
// socket may ask everything. On TCP everything needs the token, if there is one, but for the health pages; without one the address answers questions
// and changes nothing, since every user of the machine, and every web page in a browser on it, can reach it.
//
// # What holds
//
// Nothing here waits for records, or makes them wait: counters are read as they stand, state is read from a snapshot of the last commit, and a
// savepoint is taken between two commits. Asking costs the daemon only what the answer costs.
//
// A [Server] is made by Listen, which has the addresses open when it returns, and then runs until its context ends. It owns all its
// goroutines. The shapes are package api's.
package admin
