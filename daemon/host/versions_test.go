package host

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"google.golang.org/grpc"
)

// majorsOf are majors as a daemon may have them one day: each is like the first one, and counts who is spoken to in it.
func majorsOf(used map[int]int, versions ...int) (out []wire.Major) {
	for _, v := range versions {
		out = append(out, wire.Major{Version: v, Register: (*wire.Server).Register, NewClient: func(conn grpc.ClientConnInterface, explain func(error) error) *wire.Client {
			used[v]++
			return wire.NewClient(conn, explain)
		}})
	}
	return out
}

// A daemon and a plugin speak the highest major that both know, whichever of them is older; without a common one the message says which
// of them has to follow.
func TestMajorsSideBySide(t *testing.T) {
	for _, c := range []struct {
		daemon []int
		plugin string
		spoken int // 0: none
		says   []string
	}{
		{[]int{1}, "1", 1, nil},
		{[]int{1, 2}, "1", 1, nil},   // an older plugin
		{[]int{1}, "1,2", 1, nil},    // a newer one, that still knows the old major
		{[]int{1, 2}, "1,2", 2, nil}, // both
		{[]int{1, 2}, "2,3", 2, nil},
		{[]int{1}, "2", 0, []string{"it speaks version 2 of the plugin protocol, and this tidemark speaks version 1", "upgrade tidemark to one that speaks version 2"}},
		{[]int{2, 3}, "1", 0, []string{"it speaks version 1", "this tidemark speaks versions 2 and 3", "upgrade the plugin: build it with an sdk that speaks version 3"}},
		{[]int{1, 3}, "2", 0, []string{"version 2 was withdrawn", "an sdk that speaks version 3"}},
	} {
		t.Run(fmt.Sprintf("a daemon with %v, a plugin with %s", c.daemon, c.plugin), func(t *testing.T) {
			used := map[int]int{}
			h, _ := newHost(t, Settings{Majors: majorsOf(used, c.daemon...)})
			v := h.Plugins([]*config.PluginPolicy{{Kind: "source", Name: "numbers", Path: executable(), Env: map[string]string{"MAJORS": c.plugin}}}, "")
			s, err := v.OpenSource(context.Background(), wire.SourceOpen{Plugin: "numbers", Options: []byte("{}")}, OwnProcess)
			if c.spoken == 0 {
				var f *Failure
				require.ErrorAs(t, err, &f)
				require.Equal(t, WrongVersion, f.Reason)
				for _, words := range c.says {
					require.Contains(t, err.Error(), words)
				}
				return
			}
			require.NoError(t, err)
			defer s.Close()
			rows := 0
			for {
				e, err := s.Recv()
				require.NoError(t, err)
				if e.Batch != nil {
					rows += e.Batch.N
					e.Batch.Release()
				}
				if e.Kind == wire.SourceEnded {
					break
				}
			}
			require.Equal(t, 5, rows)
			require.Equal(t, map[int]int{c.spoken: 2}, used, "once to be asked what it is, and once to run")
		})
	}
	require.Equal(t, "versions 1, 2 and 3", versionsText(majorsOf(nil, 1, 2, 3)))
}
