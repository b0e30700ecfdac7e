package procstat

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// peak is the highest resident memory that a process has had, in bytes; 0 if it is gone.
func peak(pid string) int64 { return figure(pid, "status", "VmHWM:") }

// proportional is the resident memory that a process has now, in bytes, its share of pages that others have too; 0 if it is gone.
func proportional(pid string) int64 { return figure(pid, "smaps_rollup", "\nPss:") }

// figure is what stands behind a name in a process's file, in kB there.
func figure(pid, file, name string) int64 {
	data, err := os.ReadFile("/proc/" + pid + "/" + file)
	if err != nil {
		return 0
	}
	_, rest, found := bytes.Cut(data, []byte(name))
	if !found {
		return 0
	}
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10
}

// children are the processes that a process has started and that live.
func children(pid string) []string {
	tasks, err := os.ReadDir("/proc/" + pid + "/task")
	if err != nil {
		return nil
	}
	var out []string
	for _, t := range tasks { // a child belongs to the thread that has started it
		data, err := os.ReadFile("/proc/" + pid + "/task/" + t.Name() + "/children")
		if err == nil {
			out = append(out, strings.Fields(string(data))...)
		}
	}
	return out
}
