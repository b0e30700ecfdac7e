package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// eventually asks until the answer is yes, or for half a minute.
func eventually(ask func() bool) bool {
	for range 600 {
		if ask() {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ask()
}

// processes lists the living processes whose command line contains pattern and whose environment contains env.
func processes(pattern, env string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || len(line) == 0 { // gone, or a zombie
			continue
		}
		text := strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")
		vars, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains(text, pattern) || !strings.Contains(string(vars), env) {
			continue
		}
		found = append(found, filepath.Base(dir)+" "+text)
	}
	return found
}
