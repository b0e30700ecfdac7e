// Package workload names the inputs and jobs that Tidemark is measured with, and writes both: the lines of an input and the file of the
// pipeline that works on it.
//
// A [Workload] is an input and a job. Two workloads with the same [Input] share a file. [Input.Write] makes the lines on all cores, in
// order; the same input has the same bytes on every machine. [Workload.Pipeline] is the file that a user would write for the job.
//
// Names and parameters are those of docs/performance.md and never change, so that figures can be compared over years.
package workload
