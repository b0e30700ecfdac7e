package bench

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// cpuName is what the processor calls itself.
func cpuName() string { return procValue("/proc/cpuinfo", "model name") }

// memoryBytes is the machine's memory.
func memoryBytes() int64 {
	kib, _ := strconv.ParseInt(strings.TrimSuffix(procValue("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	return kib << 10
}

func procValue(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
