// Package bench runs the program on the workloads of package workload, as a user would, and measures it from outside.
//
// A [Contestant] is a way to do a workload's job: the program with plugins as processes (R) or inside the daemon (I), another binary, the
// prototype of package limit, a program of somebody else's ([Peer]). In each round every contestant does every workload once, one after the other and in changing order, so that
// ratios compare neighbours and a machine that is busy for a while is busy for all. After every run the results are compared with those of
// package baseline: a run with wrong totals makes the whole benchmark fail.
//
// Two kinds of workload are measured differently: a paced one by how old its results are when they arrive (latency.go), one that is killed by
// how long it takes until results go on, and by its output, which must be that of an undisturbed run to the byte (recovery.go).
package bench
