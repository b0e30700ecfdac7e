//go:build !linux

package bench

func cpuName() string { return "" }

func memoryBytes() int64 { return 0 }
