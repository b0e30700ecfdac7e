//go:build linux

package wire

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// twoMappings is memory as a daemon and a plugin have it, at two addresses.
func twoMappings(t testing.TB) (daemon, plugin *Shared) {
	daemon, file, err := NewShared()
	require.NoError(t, err)
	plugin = mapShared(file)
	require.NotNil(t, plugin)
	require.NoError(t, file.Close())
	t.Cleanup(func() {
		require.NoError(t, daemon.Close())
		require.NoError(t, plugin.Close())
	})
	return daemon, plugin
}

func share(t testing.TB, client *Client, server *Server) (daemon, plugin *Shared) {
	daemon, plugin = twoMappings(t)
	client.Share(daemon)
	server.Share(plugin)
	return daemon, plugin
}

// BenchmarkSourceShared is BenchmarkSource through shared memory.
func BenchmarkSourceShared(b *testing.B) {
	for _, rows := range []int{1200, 4096} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			client, server := connectServer(b, newBlobs(rows))
			share(b, client, server)
			benchSource(b, client)
		})
	}
}

// exchanges are both ends of a stream that has the memory.
func exchanges(t testing.TB) (daemon, plugin *exchange) {
	d, p := twoMappings(t)
	daemon = d.take()
	plugin = p.accept(daemon.offer())
	require.NotNil(t, plugin)
	return daemon, plugin
}

// A message is the same whether it goes on the stream or through shared memory, whatever goes before it, and however large it is.
func TestSharedMemoryChangesNoMessage(t *testing.T) {
	daemon, plugin := exchanges(t)
	frames := new(ring)
	placed, onStream := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		b := anyBatch(t)
		b.Extra = append(b.Extra, strings.Repeat("x", rapid.SampledFrom([]int{0, placeFrom, slotBytes / 2, slotBytes}).Draw(t, "more"))...)
		plain, err := (&sourceResponse{batch: b, frames: frames}).marshal()
		require.NoError(t, err)
		var want sourceResponse
		require.NoError(t, want.unmarshal(plain))

		out := sourceResponse{batch: b, frames: frames, shared: plugin}
		data, err := out.marshal()
		require.NoError(t, err)
		if out.copied {
			placed++
			require.Less(t, data.Len(), 32)
			for _, memory := range [][]byte{b.Data, b.Extra} { // it was copied when it was sent, and is used for something else
				for i := range memory {
					memory[i] = '?'
				}
			}
		} else {
			onStream++
		}
		in := sourceResponse{shared: daemon}
		require.NoError(t, in.unmarshal(pieces(t, data.Materialize())))
		same(t, want.batch, in.batch)
		require.True(t, bytes.Equal(want.batch.Extra, in.batch.Extra))
		in.batch.Release()
		want.batch.Release()
		b.Release()
	})
	require.NotZero(t, placed)
	require.NotZero(t, onStream)
}

// A source and an assigner whose batches go through shared memory give what they give without, also when more batches are on the way than there
// are slots to be used again, and with batches too small or too large for it in between.
func TestStreamsThroughSharedMemory(t *testing.T) {
	p := newBlobs(1200)
	client, server := connectServer(t, p, still{})
	daemon, _ := share(t, client, server)
	s, err := client.OpenSource(context.Background(), SourceOpen{Plugin: "blobs"})
	require.NoError(t, err)
	defer s.Close()
	for range 5 * sharedSlots {
		e, err := s.Recv()
		require.NoError(t, err)
		require.Equal(t, string(p.data), string(e.Batch.Data))
		require.Equal(t, p.offsets, e.Batch.Offsets)
		e.Batch.Release()
	}
	from := sharedSlots * slotBytes
	require.Contains(t, string(daemon.mem[from:from+slotBytes]), string(p.data[:200]), "that is the way it took")

	// The memory belongs to the first stream; a second one goes without.
	second, err := client.OpenSource(context.Background(), SourceOpen{Plugin: "blobs"})
	require.NoError(t, err)
	defer second.Close()
	require.Nil(t, second.(*sourceClient).in.shared)
	e, err := second.Recv()
	require.NoError(t, err)
	require.Equal(t, string(p.data), string(e.Batch.Data))
	e.Batch.Release()
}

func TestAnAssignerThroughSharedMemory(t *testing.T) {
	client, server := connectServer(t, still{})
	daemon, _ := share(t, client, server)
	a, err := client.OpenAssigner(context.Background(), AssignerOpen{Plugin: "still"}, Wanted{})
	require.NoError(t, err)
	defer a.Close()
	for round := range 5 * sharedSlots {
		b := batch.Get()
		b.N = []int{1, 1200, 4096, slotBytes / 8 * 2}[round%4]
		for i := range b.N {
			b.Times = append(b.Times, int64(round*1_000_000+i))
		}
		require.NoError(t, a.Assign(b))
		e, err := a.Recv()
		require.NoError(t, err)
		require.Equal(t, []batch.Mark{{After: uint32(b.N), Watermark: int64(round*1_000_000 + b.N - 1)}}, e.Batch.Marks)
		b.Release()
	}
	require.NotEqual(t, make([]byte, 64), daemon.mem[:64], "that is the way it took")
}

// A plugin that does not know the memory, or cannot map it, is spoken to on the stream.
func TestAPluginWithoutSharedMemory(t *testing.T) {
	p := newBlobs(1200)
	client := connect(t, p)
	daemon, _ := twoMappings(t)
	client.Share(daemon)
	s, err := client.OpenSource(context.Background(), SourceOpen{Plugin: "blobs"})
	require.NoError(t, err)
	defer s.Close()
	e, err := s.Recv()
	require.NoError(t, err)
	require.Equal(t, string(p.data), string(e.Batch.Data))
	e.Batch.Release()
	require.Equal(t, make([]byte, 64), daemon.mem[sharedSlots*slotBytes:][:64])
}

// What a plugin may say about where a message stands, and may not.
func TestPlacesThatCannotBe(t *testing.T) {
	daemon, _ := exchanges(t)
	from, end := uint64(daemon.read.from), uint64(daemon.read.end())
	for _, c := range []struct {
		name  string
		p     *pluginv1.Placed
		x     *exchange
		wrong string
	}{
		{"the daemon's own slots", &pluginv1.Placed{Offset: 0, Length: 10}, daemon, "outside of the sender's slots: 10 bytes at 0"},
		{"begins before", &pluginv1.Placed{Offset: from - 1, Length: 10}, daemon, "outside"},
		{"ends behind", &pluginv1.Placed{Offset: end - 9, Length: 10}, daemon, "outside"},
		{"begins behind", &pluginv1.Placed{Offset: end + 1, Length: 0}, daemon, "outside"},
		{"overflows", &pluginv1.Placed{Offset: 1<<64 - 5, Length: 10}, daemon, "outside"},
		{"there is no memory", &pluginv1.Placed{Offset: from, Length: 10}, nil, "of which there is none"},
		{"an empty batch", &pluginv1.Placed{Offset: from, Length: 0}, daemon, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := proto.Marshal(&pluginv1.SourceResponse{Response: &pluginv1.SourceResponse_Placed{Placed: c.p}})
			require.NoError(t, err)
			in := sourceResponse{shared: c.x}
			err = in.unmarshal(mem.BufferSlice{mem.SliceBuffer(data)})
			if c.wrong == "" {
				require.NoError(t, err)
				in.batch.Release()
				return
			}
			require.ErrorContains(t, err, c.wrong)
			require.True(t, daemon.memory.mu.TryLock(), "the memory can be closed")
			daemon.memory.mu.Unlock()
		})
	}
}

// A daemon offers what a plugin cannot use: it goes without.
func TestOffersThatAPluginDeclines(t *testing.T) {
	daemon, plugin := twoMappings(t)
	good := daemon.take().offer()
	require.NotNil(t, plugin.accept(good))
	require.Nil(t, daemon.take(), "one stream has it")
	require.Nil(t, plugin.accept(nil))
	require.Nil(t, (*Shared)(nil).accept(good))
	for name, spoil := range map[string]func(o *pluginv1.SharedMemory){
		"fewer slots than credits": func(o *pluginv1.SharedMemory) { o.Slots = Credits - 1 },
		"beyond the memory":        func(o *pluginv1.SharedMemory) { o.ToDaemon++ },
		"far beyond":               func(o *pluginv1.SharedMemory) { o.ToPlugin = 1<<63 + 1 },
		"huge slots":               func(o *pluginv1.SharedMemory) { o.SlotBytes = 1<<32 - 1 },
	} {
		o := proto.Clone(good).(*pluginv1.SharedMemory)
		spoil(o)
		require.Nil(t, plugin.accept(o), name)
	}
}

// The other side writes into the memory while a message is read. What comes out is an error or a batch that keeps every rule; it is never
// looked at again where the other side can reach it.
func TestTheOtherSideWritesWhileAMessageIsRead(t *testing.T) {
	daemon, plugin := exchanges(t)
	b := batch.Get()
	defer b.Release()
	p := newBlobs(1200)
	b.N, b.Trailer, b.Data, b.Offsets = 1200, 1, append(b.Data, p.data...), append(b.Offsets, p.offsets...)
	c := b.AddColumn("text")
	for i := range b.N {
		b.SetText(c, i, batch.String, fmt.Sprint("päckchen ", i))
	}
	frames := new(ring)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		random := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-stop:
				return
			default:
			}
			mem := plugin.memory.mem[plugin.write.from+random.IntN(sharedSlots)*slotBytes:][:160<<10]
			for range 64 {
				mem[random.IntN(64)] = byte(random.Uint32()) // lengths and tags
				mem[random.IntN(len(mem))] = byte(random.Uint32())
			}
		}
	})
	good, refused := 0, 0
	for good < 50 || refused < 50 { // that the writer comes in between, and that it does not, happens soon enough
		out := sourceResponse{batch: b, frames: frames, shared: plugin}
		data, err := out.marshal()
		require.NoError(t, err)
		require.True(t, out.copied)
		in := sourceResponse{shared: daemon}
		if err := in.unmarshal(data); err != nil {
			refused++
			continue
		}
		got := in.batch
		require.NoError(t, check(got), "what was read keeps the rules, and still does")
		for i := range got.N {
			_ = got.Row(i)
		}
		good++
		got.Release()
	}
	close(stop)
	writer.Wait()
}

// When a process has ended its memory is closed, while a stream may still be reading: that fails and harms nothing.
func TestMemoryIsClosedWhileItIsUsed(t *testing.T) {
	d, p := twoMappings(t)
	daemon := d.take()
	plugin := p.accept(daemon.offer())
	b := batch.Get()
	defer b.Release()
	b.Data = append(b.Data, strings.Repeat("x", 100<<10)...)
	out := sourceResponse{batch: b, frames: new(ring), shared: plugin}
	data, err := out.marshal()
	require.NoError(t, err)
	require.True(t, out.copied)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				in := sourceResponse{shared: daemon}
				if err := in.unmarshal(data); err != nil {
					if !strings.Contains(err.Error(), errUnmapped.Error()) {
						t.Error(err)
					}
					return
				}
				in.batch.Release()
			}
		})
	}
	require.NoError(t, d.Close())
	require.NoError(t, d.Close(), "twice is harmless")
	readers.Wait()
	require.NoError(t, p.Close())
	out.copied = true
	_, err = out.marshal()
	require.NoError(t, err)
	require.False(t, out.copied, "what cannot be placed goes on the stream")
	require.NoError(t, (*Shared)(nil).Close())
}

// A plugin can neither shrink the memory, which would end the daemon at its next access, nor let it grow.
func TestTheSizeOfTheMemoryIsSealed(t *testing.T) {
	s, file, err := NewShared()
	require.NoError(t, err)
	defer s.Close()
	defer file.Close()
	require.ErrorIs(t, file.Truncate(0), os.ErrPermission)
	require.ErrorIs(t, file.Truncate(sharedBytes+1), os.ErrPermission)
	again := mapShared(file)
	require.NotNil(t, again)
	require.Len(t, again.mem, sharedBytes)
	require.NoError(t, again.Close())
	empty, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer empty.Close()
	require.Nil(t, mapShared(empty))
	t.Setenv(MemoryKey, "not a number")
	require.Nil(t, InheritShared())
	t.Setenv(MemoryKey, "12345")
	require.Nil(t, InheritShared())
}
