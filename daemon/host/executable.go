package host

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/config"
)

// elfMachines are the machines that Go builds for on Linux.
var elfMachines = map[string]elf.Machine{
	"386": elf.EM_386, "amd64": elf.EM_X86_64, "arm": elf.EM_ARM, "arm64": elf.EM_AARCH64, "loong64": elf.EM_LOONGARCH, "riscv64": elf.EM_RISCV,
	"ppc64le": elf.EM_PPC64, "mipsle": elf.EM_MIPS, "mips64le": elf.EM_MIPS,
}

// checkFile finds out, before anything is started, why a file cannot be run. It returns a reason, a text, and a remedy.
func checkFile(path string) (detail, hint string) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return fmt.Sprintf("there is no file %s", path), "put the executable there or mend the path"
	case err != nil:
		return fmt.Sprintf("look at the file: %v", err), ""
	case info.IsDir():
		return fmt.Sprintf("%s is a directory", path), "name the executable in it"
	case info.Size() == 0:
		return fmt.Sprintf("%s is empty", path), "build or copy it again"
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return fmt.Sprintf("%s is not executable (mode %s)", path, info.Mode().Perm()), "chmod +x " + path
	}
	return checkFormat(path)
}

// checkFormat looks at the first bytes: a script needs its interpreter, a binary the right machine.
func checkFormat(path string) (detail, hint string) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("read the file: %v", err), "the daemon's user must be able to read and execute it"
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	switch {
	case strings.HasPrefix(string(head), "#!"):
		line, _, _ := strings.Cut(string(head[2:]), "\n")
		words := strings.Fields(line)
		if len(words) == 0 {
			return path + " is a script without an interpreter in its first line", ""
		}
		if _, err := os.Stat(words[0]); err != nil {
			return fmt.Sprintf("%s is a script for %s, which is not there", path, words[0]), "install the interpreter or mend the first line"
		}
	case strings.HasPrefix(string(head), "\x7fELF"):
		if runtime.GOOS != "linux" {
			return path + " is a program for Linux, and this is " + runtime.GOOS, "build it with GOOS=" + runtime.GOOS
		}
		x, err := elf.NewFile(f)
		if err != nil {
			return fmt.Sprintf("%s is a damaged program: %v", path, err), "build or copy it again"
		}
		if want, known := elfMachines[runtime.GOARCH]; known && x.Machine != want {
			return fmt.Sprintf("%s is a program for another machine (%s), and this is %s", path, x.Machine, runtime.GOARCH), "build it with GOARCH=" + runtime.GOARCH
		}
	case runtime.GOOS == "linux":
		return path + " is neither a Linux program nor a script", "build it for " + runtime.GOOS + "/" + runtime.GOARCH + ", or begin a script with #!"
	}
	return "", ""
}

// writableByAll is a risk worth a warning: anybody could put other code into the daemon.
func writableByAll(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0
}

// digestOf is the SHA-256 of a file in lower-case hex.
func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the plugin: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the plugin: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// checkPin compares the file with its pins. No pin allows everything.
func checkPin(path string, policy *config.PluginPolicy) (detail, hint string) {
	if policy == nil || len(policy.SHA256) == 0 {
		return "", ""
	}
	found, err := digestOf(path)
	if err != nil {
		return err.Error(), ""
	}
	if slices.Contains(policy.SHA256, found) {
		return "", ""
	}
	where := ""
	if at := policy.Spots["sha256"].String(); at != "" {
		where = " in " + at
	}
	return fmt.Sprintf("its sha256 is %s, pinned%s is %s", found, where, strings.Join(policy.SHA256, ", ")),
		fmt.Sprintf("if you trust the file, pin it again: `tidemark plugins verify --pin %s`", path)
}
