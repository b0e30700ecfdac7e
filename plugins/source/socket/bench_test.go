package socket

import (
	"bytes"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// BenchmarkClient reads "key ts" lines of 28 bytes over the loopback, the way there included.
func BenchmarkClient(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer ln.Close()
	const lines = 4000
	chunk := bytes.Repeat([]byte("user-00005191 1699999999894\n"), lines)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for sent := 0; sent < b.N; sent += lines {
			if _, err := c.Write(chunk); err != nil {
				return
			}
		}
	}()
	src, err := Plugin().OpenSource(wire.SourceOpen{
		Options: fmt.Appendf(nil, `{"address":%q,"reconnect":false}`, ln.Addr()), Framing: wire.Framing{Format: "lines"},
	}, wire.Runtime{})
	require.NoError(b, err)
	defer src.Close()
	b.SetBytes(28)
	b.ReportAllocs()
	b.ResetTimer()
	for {
		e, err := src.Recv()
		if err != nil {
			return
		}
		if e.Batch != nil {
			e.Batch.Release()
		}
	}
}
