//go:build !linux

package procstat

func peak(string) int64 { return 0 }

func proportional(string) int64 { return 0 }

func children(string) []string { return nil }
