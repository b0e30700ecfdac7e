package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"go.uber.org/goleak"
)

// pluginDir holds the test plugin under the names of all that it serves.
var pluginDir string

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == GuardCommand {
		Guard(os.Stdin)
		os.Exit(0)
	}
	if plugin := os.Getenv(daemonKey); plugin != "" {
		beDaemon(plugin)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "host-test-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		pluginDir = filepath.Join(dir, "a folder with spaces")
		if err := os.Mkdir(pluginDir, 0o700); err != nil {
			panic(err)
		}
		build := exec.Command("go", "build", "-o", filepath.Join(pluginDir, "tidemark-plugins-test"), "./testdata/plugin")
		if out, err := build.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("build the test plugin: %v\n%s", err, out))
		}
		code := m.Run()
		if code == 0 {
			if err := goleak.Find(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		return code
	}())
}

func executable() string { return filepath.Join(pluginDir, "tidemark-plugins-test") }

// logLines is a log that tests can read.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newHost makes a host that ends with the test, which leaves no process behind.
func newHost(t *testing.T, s Settings) (*Host, *logLines) {
	t.Helper()
	lines := &logLines{}
	s.Log = hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: lines, DisableTime: true})
	if s.Dirs == nil {
		s.Dirs = []string{pluginDir}
	}
	h, err := New(s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h, lines
}

// misbehaving is a view in which the plugin misbehaves.
func misbehaving(h *Host, kind sdk.Kind, name, how string, more ...string) *Plugins {
	env := map[string]string{"MISBEHAVE": how}
	for i := 0; i < len(more); i += 2 {
		env[more[i]] = more[i+1]
	}
	return h.Plugins([]*config.PluginPolicy{{Kind: string(kind), Name: name, Path: executable(), Env: env}}, "")
}

func openNumbers(t *testing.T, v *Plugins, options string, restored ...wire.RestoredPartition) wire.Source {
	t.Helper()
	s, err := v.OpenSource(context.Background(), wire.SourceOpen{Plugin: "numbers", Options: []byte(options), Restored: restored,
		Place: wire.Place{Pipeline: "p", Component: "c"}}, OwnProcess)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// drain reads a source to its end and writes down what it says.
func drain(t *testing.T, s wire.Source) (script []string, err error) {
	t.Helper()
	for {
		e, err := s.Recv()
		if err != nil {
			return script, err
		}
		switch e.Kind {
		case wire.SourceBatch:
			for i := range e.Batch.N {
				script = append(script, fmt.Sprintf("row user=%s ts=%d time=%d", e.Batch.Text(e.Batch.Column("user").Bits[i]), e.Batch.Column("ts").Bits[i], e.Batch.Times[i]))
			}
			for _, m := range e.Batch.Marks {
				script = append(script, fmt.Sprintf("mark after %d: %d", m.After, m.Watermark))
			}
			script = append(script, "position "+string(e.Batch.Position))
			e.Batch.Release()
		case wire.PartitionAdded:
			script = append(script, fmt.Sprintf("partition %d %s", e.Partition, e.Name))
		case wire.SourceEnded:
			return append(script, "end"), nil
		case wire.SourceStopped:
			return append(script, "stopped"), nil
		default:
			script = append(script, fmt.Sprint("event ", e.Kind))
		}
	}
}

func TestASourceProcessBringsRowsTimesMarksAndPositions(t *testing.T) {
	h, lines := newHost(t, Settings{})
	s := openNumbers(t, h.Plugins(nil, ""), `{"count": 3}`)
	script, err := drain(t, s)
	require.NoError(t, err)
	require.Equal(t, []string{"partition 0 default",
		"row user=user ts=0 time=0", "row user=user ts=1000 time=1000", "row user=user ts=2000 time=2000",
		"mark after 1: -1", "mark after 2: 999", "mark after 3: 1999", "position #3", "end"}, merged(script))
	require.NoError(t, s.Close())
	require.Contains(t, lines.String(), "numbers begin")
	require.Contains(t, lines.String(), "component=c")
	require.Empty(t, h.Processes())
}

// merged puts rows and marks of a slow machine's several batches together as if it had been one.
func merged(script []string) []string {
	var out, rows, marks []string
	position := ""
	for _, l := range script {
		switch {
		case strings.HasPrefix(l, "row "):
			rows = append(rows, l)
		case strings.HasPrefix(l, "mark "):
			_, value, _ := strings.Cut(l, ": ")
			marks = append(marks, fmt.Sprintf("mark after %d: %s", len(marks)+1, value))
		case strings.HasPrefix(l, "position "):
			if l != "position " {
				position = l
			}
		case l == "end" || l == "stopped":
			out = append(append(append(append(out, rows...), marks...), position), l)
		default:
			out = append(out, l)
		}
	}
	return out
}

func TestASourceGoesOnBehindItsPosition(t *testing.T) {
	h, _ := newHost(t, Settings{})
	s := openNumbers(t, h.Plugins(nil, ""), `{"count": 3}`, wire.RestoredPartition{Name: "default", Position: []byte("#2")})
	script, err := drain(t, s)
	require.NoError(t, err)
	require.Equal(t, []string{"partition 0 default", "row user=user ts=2000 time=2000", "mark after 1: 1999", "position #3", "end"}, merged(script))
}

func TestAStoppedSourceEndsWhereItIs(t *testing.T) {
	h, _ := newHost(t, Settings{})
	s := openNumbers(t, h.Plugins(nil, ""), `{"forever": true}`)
	rows := 0
	for rows < 50_000 { // far beyond the credit
		e, err := s.Recv()
		require.NoError(t, err)
		if e.Batch != nil {
			rows += e.Batch.N
			require.NoError(t, s.Ack(e.Partition, e.Batch.Position))
			e.Batch.Release()
		}
	}
	require.NoError(t, s.Stop())
	script, err := drain(t, s)
	require.NoError(t, err)
	require.Equal(t, "stopped", script[len(script)-1])
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var events, acked float64
	var acks []wire.Label
	for _, m := range h.Metrics(ctx) {
		require.Equal(t, wire.Place{Pipeline: "p", Component: "c"}, m.Place)
		switch m.Name {
		case "events_total":
			events = m.Value
		case "acked":
			acked = m.Value
		case "acks_total":
			acks = m.Labels
		}
	}
	require.Equal(t, []wire.Label{{Name: "partition", Value: "default"}}, acks)
	require.GreaterOrEqual(t, events, 50_000.0)
	require.Positive(t, acked)
}

func TestRowsFarLargerThanFourMiB(t *testing.T) {
	h, _ := newHost(t, Settings{})
	s := openNumbers(t, h.Plugins(nil, ""), `{"count": 2, "big": "9MiB"}`)
	script, err := drain(t, s)
	require.NoError(t, err)
	rows := 0
	for _, l := range script {
		if strings.HasPrefix(l, "row ") {
			require.Greater(t, len(l), 9<<20)
			rows++
		}
	}
	require.Equal(t, 2, rows)
}

// events makes a batch of events with columns of all sorts.
func events(n int, ts func(i int) int64) *batch.Batch {
	b := batch.Get()
	b.N = n
	user := b.AddColumn("user")
	for i := range n {
		b.SetText(user, i, batch.String, fmt.Sprint("user", i%7))
	}
	c := b.AddColumn("ts")
	for i := range n {
		c.SetInt(i, ts(i))
	}
	c = b.AddColumn("n")
	for i := range n {
		c.SetInt(i, int64(i))
	}
	c = b.AddColumn("unwanted")
	for i := range n {
		c.SetFloat(i, 1)
	}
	return b
}

func openBounded(t *testing.T, v *Plugins, isolation Isolation, options string, every bool, bucket int64) wire.Assigner {
	t.Helper()
	a, err := v.OpenAssigner(context.Background(), wire.AssignerOpen{Plugin: "bounded", Options: []byte(options), EveryRecord: every, Bucket: bucket}, isolation)
	require.NoError(t, err)
	t.Cleanup(func() { a.Close() })
	return a
}

func TestAnAssignerProcessMarksEveryRecord(t *testing.T) {
	h, _ := newHost(t, Settings{})
	a := openBounded(t, h.Plugins(nil, ""), OwnProcess, `{"delay":"1s"}`, true, 1)
	require.NoError(t, a.AddPartition(0, "zero", nil))
	require.NoError(t, a.AddPartition(7, "seven", []byte("100000")))
	b := events(4, func(i int) int64 { return []int64{5000, 3000, 9000, 9001}[i] })
	require.NoError(t, a.Assign(b))
	late := events(3, func(i int) int64 { return []int64{99_000, 101_000, 1}[i] })
	late.Partition, late.Sel = 7, []uint32{1, 2}
	require.NoError(t, a.Assign(late))
	require.NoError(t, a.Tick([]uint32{7, 0}))
	require.NoError(t, a.Barrier(12))

	e, err := a.Recv()
	require.NoError(t, err)
	require.Same(t, b, e.Batch)
	require.Equal(t, []int64{5000, 3000, 9000, 9001}, b.Times)
	require.Equal(t, []batch.Mark{{After: 1, Watermark: 3999}, {After: 3, Watermark: 7999}, {After: 4, Watermark: 8000}}, b.Marks)

	e, err = a.Recv()
	require.NoError(t, err)
	require.Same(t, late, e.Batch)
	require.Equal(t, []int64{101_000, 1}, late.Times[1:])
	require.Equal(t, []batch.Mark{{After: 2, Watermark: 99_999}}, late.Marks, "row 0 is not selected; its number counts")

	e, err = a.Recv()
	require.NoError(t, err)
	require.Equal(t, []wire.PartitionWatermark{{Partition: 7, Watermark: 99_999}, {Partition: 0, Watermark: 8000}}, e.Watermarks)

	e, err = a.Recv()
	require.NoError(t, err)
	require.EqualValues(t, 12, e.Barrier)
	require.ElementsMatch(t, []wire.PartitionState{{Partition: 0, State: []byte("9001")}, {Partition: 7, State: []byte("101000")}}, e.States)
}

func TestMarkersAndRefusedRows(t *testing.T) {
	h, _ := newHost(t, Settings{})
	a, err := h.Plugins(nil, "").OpenAssigner(context.Background(), wire.AssignerOpen{Plugin: "marks", Options: []byte(`{"is_marker":"kind == 'hb'"}`)}, OwnProcess)
	require.NoError(t, err)
	defer a.Close()
	require.NoError(t, a.AddPartition(0, "p", nil))
	b := events(4, func(i int) int64 { return int64(i) * 10 })
	is := b.AddColumn("is_marker")
	for i, v := range []bool{false, true, false, true} {
		is.SetBool(i, v)
	}
	b.Column("ts").SetNull(2)
	require.NoError(t, a.Assign(b))
	e, err := a.Recv()
	require.NoError(t, err)
	require.Equal(t, []uint32{1, 3}, e.Markers)
	require.Equal(t, []batch.Mark{{After: 2, Watermark: 10}, {After: 4, Watermark: 30}}, b.Marks)
	require.Equal(t, []batch.BadRow{{Row: 2, Code: "missing_field", Message: `the field "ts" is missing`}}, b.Bad)
	require.Equal(t, []uint32{0, 1, 3}, b.Sel)
}

// Whether an assigner runs inside the daemon or not must not show, whatever the batches are, selected or whole.
func TestIsolationDoesNotShow(t *testing.T) {
	outside, _ := newHost(t, Settings{})
	inside, _ := newHost(t, Settings{Dirs: []string{}, Shipped: []sdk.Plugin{sdk.NewPeriodicAssigner("bounded", "", newHighest)}})
	outer := openBounded(t, outside.Plugins(nil, ""), OwnProcess, `{"delay":"1s"}`, true, 5000)
	inner := openBounded(t, inside.Plugins(nil, ""), InProcess, `{"delay":"1s"}`, true, 5000)
	require.NoError(t, outer.AddPartition(0, "p", nil))
	require.NoError(t, inner.AddPartition(0, "p", nil))
	for round, size := 0, 1; size < 3000; round, size = round+1, size*3+1 {
		make := func() *batch.Batch {
			b := events(size, func(i int) int64 { return int64(round*20_000 + i*i%977*13) })
			if round%2 == 1 {
				for i := 0; i < size; i += 3 {
					b.Sel = append(b.Sel, uint32(i))
				}
			}
			return b
		}
		a, b := make(), make()
		require.NoError(t, outer.Assign(a))
		_, err := outer.Recv()
		require.NoError(t, err)
		require.NoError(t, inner.Assign(b))
		_, err = inner.Recv()
		require.NoError(t, err)
		require.Equal(t, b.Times, a.Times)
		require.Equal(t, b.Marks, a.Marks)
		require.NotEmpty(t, a.Marks)
	}
}

type event struct {
	TS int64 `tidemark:"ts"`
}

type highestConfig struct {
	Delay time.Duration `name:"delay"`
}

// highest is the test plugin's bounded assigner, inside this process.
type highest struct{ high, delay int64 }

func newHighest(c highestConfig) (sdk.PeriodicAssigner[event], error) {
	return &highest{-1 << 62, c.Delay.Milliseconds()}, nil
}

func (h *highest) ExtractTimestamp(e event, _ int64) int64 {
	h.high = max(h.high, e.TS)
	return e.TS
}

func (h *highest) CurrentWatermark() sdk.Watermark { return sdk.Watermark(h.high - h.delay - 1) }

func TestATextSinkDeliversOnce(t *testing.T) {
	h, _ := newHost(t, Settings{})
	v := h.Plugins(nil, "")
	path := filepath.Join(t.TempDir(), "out")
	open := func(options string) wire.Sink {
		s, err := v.OpenSink(context.Background(), wire.SinkOpen{Plugin: "file", Options: []byte(fmt.Sprintf(`{"path":%q%s}`, path, options))}, OwnProcess)
		require.NoError(t, err)
		return s
	}
	ctx := context.Background()
	s := open("")
	n, known, err := s.LastDelivered(ctx)
	require.NoError(t, err)
	require.True(t, known)
	require.Zero(t, n)
	require.NoError(t, s.Write(ctx, 1, lines("a", "b", "c")))
	some := lines("x", "d", "y")
	some.Sel = []uint32{1}
	require.NoError(t, s.Write(ctx, 4, some))
	require.NoError(t, s.Close())

	s = open(`,"refuse":"f"`)
	defer s.Close()
	n, _, err = s.LastDelivered(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 4, n)
	err = s.Write(ctx, 5, lines("e", "f"))
	var verdict *wire.SinkError
	require.ErrorAs(t, err, &verdict)
	require.Equal(t, []batch.BadRow{{Row: 1, Code: "unwanted", Message: "it is not wanted"}}, verdict.Refused)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "1 a\n2 b\n3 c\n4 d\n5 e\n", string(text))

	full := open(`,"full":true`)
	defer full.Close()
	err = full.Write(ctx, 7, lines("g"))
	require.ErrorAs(t, err, &verdict)
	require.False(t, verdict.Permanent)
	require.Equal(t, 5*time.Second, verdict.After)
	require.Contains(t, err.Error(), "no space left")
}

func lines(rows ...string) *batch.Batch {
	b := batch.Get()
	b.N, b.Trailer = len(rows), 1
	b.Offsets = append(b.Offsets, 0)
	for _, r := range rows {
		b.Data = append(append(b.Data, r...), '\n')
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	}
	return b
}

func TestATransformProcess(t *testing.T) {
	h, _ := newHost(t, Settings{})
	tr, err := h.Plugins(nil, "").OpenTransform(context.Background(), wire.TransformOpen{Plugin: "double"}, OwnProcess)
	require.NoError(t, err)
	defer tr.Close()
	in := events(5, func(i int) int64 { return int64(i) })
	for i, name := range []string{"ann", "nobody", "mallory", "bob", "cid"} {
		in.SetText(in.Column("user"), i, batch.String, name)
	}
	in.Times = append(in.Times, 10, 11, 12, 13, 14)
	in.Marks = append(in.Marks, batch.Mark{After: 1, Watermark: 9}, batch.Mark{After: 4, Watermark: 12})
	in.Sel = []uint32{0, 1, 2, 3}
	require.NoError(t, tr.Process(in))
	e, err := tr.Recv()
	require.NoError(t, err)
	var got []string
	for i := range e.Out.N {
		got = append(got, fmt.Sprintf("%s %d @%d from %d", e.Out.Text(e.Out.Column("user").Bits[i]), e.Out.Column("part").Bits[i], e.Out.Times[i], e.Origin[i]))
	}
	require.Equal(t, []string{"ann 1 @10 from 0", "ann 2 @10 from 0", "bob 1 @13 from 3", "bob 2 @13 from 3"}, got)
	require.Equal(t, []batch.Mark{{After: 2, Watermark: 9}, {After: 4, Watermark: 12}}, e.Out.Marks)
	require.Equal(t, []batch.BadRow{{Row: 2, Code: "refused", Message: "mallory is not welcome"}}, in.Bad)
}

func TestOptionsAreCheckedByThePluginItself(t *testing.T) {
	h, _ := newHost(t, Settings{})
	v := h.Plugins(nil, "")
	err := v.CheckOptions(sdk.KindSource, "numbers", []byte(`{"count":-1}`))
	require.Equal(t, sdk.OptionErrors{{Path: []string{"count"}, Reason: "invalid", Message: "must not be negative"}}, err)
	require.NoError(t, v.CheckOptions(sdk.KindSource, "numbers", []byte(`{"count":1}`)))
	_, err = v.OpenSource(context.Background(), wire.SourceOpen{Plugin: "numbers", Options: []byte(`{"cuont":1}`)}, OwnProcess)
	require.Equal(t, sdk.OptionErrors{{Path: []string{"cuont"}, Reason: "unknown", Message: `there is no option "cuont"`, Hint: `did you mean "count"?`}}, err)
}

func TestManyProcessesStartAndEndAtTheSameTime(t *testing.T) {
	h, _ := newHost(t, Settings{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			a := openBounded(t, h.Plugins(nil, ""), OwnProcess, "", true, 1)
			if i%2 == 0 {
				require.NoError(t, a.Close())
			}
		})
	}
	wg.Wait()
	require.Len(t, h.Processes(), 4)
}

func pids(t *testing.T, note string) []int {
	t.Helper()
	text, err := os.ReadFile(note)
	require.NoError(t, err)
	var out []int
	for _, word := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(word)
		require.NoError(t, err)
		out = append(out, n)
	}
	return out
}

// The conformance kit over a real process, as `tidemark plugins verify` runs it.
func TestAnExecutableIsVerified(t *testing.T) {
	h, _ := newHost(t, Settings{})
	e, err := h.OpenExecutable(context.Background(), executable())
	require.NoError(t, err)
	defer e.Close()
	for _, p := range e.Plugins {
		switch p.Description().Name {
		case "bounded":
			r := sdktest.Check(p, sdktest.Settings{Records: 40, Record: func(i int) any { return map[string]any{"ts": int64(1000 * i)} }})
			require.Contains(t, r.Passed, "a snapshot and a restart at every place do not show")
			require.Empty(t, r.Findings)
		case "numbers":
			r := sdktest.Check(p, sdktest.Settings{Options: sdktest.Options{"count": 30}})
			require.Contains(t, r.Passed, "a restart at every position loses and doubles nothing", fmt.Sprint(r.Findings))
		}
	}
}
