package main

import (
	"math/rand/v2"
	"os"
	"syscall"
)

// scribble writes between these bytes of every slot of the memory that is shared with the daemon, all the time: into what the daemon is about to
// read, is reading, and has written.
func scribble(from, to int) {
	const fd = 4 // the sdk maps it as well, and closes it
	info, err := os.NewFile(fd, "memory").Stat()
	if err != nil {
		panic(err)
	}
	memory, err := syscall.Mmap(fd, 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	go func() {
		random := rand.New(rand.NewPCG(1, 2))
		for {
			slot := memory[random.IntN(16)*(len(memory)/16):]
			for range 100 {
				slot[from+random.IntN(32)] = byte(random.Uint32())
				slot[from+random.IntN(to-from)] = byte(random.Uint32())
			}
		}
	}()
}
