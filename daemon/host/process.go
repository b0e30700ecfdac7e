package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// process is a running plugin process.
type process struct {
	host   *Host
	kind   sdk.Kind
	name   string
	path   string
	place  wire.Place
	policy *config.PluginPolicy
	since  time.Time
	log    hclog.Logger

	runner *processRunner
	client *goplugin.Client
	conn   *grpc.ClientConn
	wire   *wire.Client
	shared *wire.Shared // or nil

	ready     atomic.Bool // what is above is set
	calls     callWatch
	hung      atomic.Pointer[string] // why it was taken for hung
	closing   atomic.Bool
	oddMetric atomic.Bool // something about its metrics has been told
	stopped   sync.Once
	over      chan struct{} // closed by stop
	watched   sync.WaitGroup
}

// launch is what is needed to start a process.
type launch struct {
	kind   sdk.Kind
	name   string
	path   string
	args   []string
	place  wire.Place
	policy *config.PluginPolicy
	stdin  bool
}

// start starts a process and shakes hands. Errors are *Failure, or the context's.
func (h *Host) start(ctx context.Context, l launch) (*process, error) {
	p := &process{host: h, kind: l.kind, name: l.name, path: l.path, place: l.place, policy: l.policy, over: make(chan struct{})}
	p.calls.clock = h.clock
	p.log = h.log.With("plugin", l.name, "kind", string(l.kind))
	if l.place.Pipeline != "" {
		p.log = p.log.With("pipeline", l.place.Pipeline, "component", l.place.Component)
	}
	if detail, hint := checkFile(l.path); detail != "" {
		return nil, p.failure(NotExecutable, detail, hint, nil)
	}
	if detail, hint := checkPin(l.path, l.policy); detail != "" {
		return nil, p.failure(WrongDigest, detail, hint, nil)
	}
	cmd := exec.Command(l.path, l.args...)
	cmd.Env = environment(l.policy, h.log.GetLevel())
	ownGroup(cmd, !l.stdin)
	if err := p.runAs(cmd); err != nil {
		return nil, p.failure(NotExecutable, err.Error(), "", nil)
	}
	if err := h.register(p); err != nil {
		return nil, err
	}
	if err := p.shake(ctx, cmd, l.stdin); err != nil {
		p.stop()
		return nil, err
	}
	p.since = h.clock.Now()
	p.ready.Store(true)
	p.watched.Go(p.watchHealth)
	return p, nil
}

// shake starts the process and waits for its handshake and its first sign of health.
func (p *process) shake(ctx context.Context, cmd *exec.Cmd, stdin bool) error {
	timeout := p.host.startTimeout
	if p.policy != nil && p.policy.StartTimeout > 0 {
		timeout = p.policy.StartTimeout
	}
	known := map[string]string{"plugin": p.name, "kind": string(p.kind), "pipeline": p.place.Pipeline, "component": p.place.Component}
	said := newPluginLog(p.log, known, p.host.clock)
	p.runner = newProcessRunner(cmd, !stdin, p.policy, p.host.spawner, p.host.guard, p.host.clock, said)
	defer p.share()()
	p.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: clientHalves(p.host.majors),
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, sockets string) (runner.Runner, error) {
			if err := p.openSockets(cmd, sockets); err != nil {
				return nil, err
			}
			p.runner.sockets = filepath.Clean(sockets)
			cmd.Env = append(cmd.Env, spec.Env...)
			if stdin {
				cmd.Stdin = os.Stdin
			}
			return p.runner, nil
		},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
		StartTimeout:     timeout,
		AutoMTLS:         p.policy != nil && p.policy.MTLS,
		GRPCDialOptions:  wire.DialOptions(),
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.host.dir},
		SyncStdout:       &lineSplitter{line: said.printed},
		SyncStderr: &lineSplitter{line: func(line string) {
			p.runner.stderr.note(line + "\n")
			said.line(line)
		}},
	})
	stop := context.AfterFunc(ctx, func() { p.runner.abort() })
	defer stop()
	c, err := p.client.Client()
	if err == nil {
		p.conn = c.(*goplugin.GRPCClient).Conn
		p.wire = majorOf(p.host.majors, p.client.NegotiatedVersion()).NewClient(p.conn, p.explain)
		p.wire.Share(p.shared)
		health, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if err = p.ping(health); err == nil {
			return nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("start plugin %s: %w", p.name, cause)
	}
	return p.startFailure(err, timeout)
}

// share makes memory for the process to share with us, unless what passes is to be encrypted. Without it everything goes over the connection.
// The process inherits it; forget lets go of our descriptor, which the mapping does not need.
func (p *process) share() (forget func()) {
	if p.policy != nil && p.policy.MTLS {
		return func() {}
	}
	shared, file, err := wire.NewShared()
	if err != nil {
		p.log.Debug("there is no memory to share with the plugin", "error", err)
		return func() {}
	}
	p.shared, p.runner.memory = shared, file
	return func() { _ = file.Close() }
}

// startFailure finds out why a start has failed. What go-plugin says is about bytes; what people need is about files and versions.
func (p *process) startFailure(err error, timeout time.Duration) *Failure {
	version, noise := p.runner.filter.seen()
	printed := ""
	if len(noise) > 0 {
		printed = fmt.Sprintf("; it printed %q", strings.Join(noise, "\n"))
	}
	if v, convErr := strconv.Atoi(version); convErr == nil {
		if hint, differs := versionHint(p.host.majors, v); differs {
			return p.failure(WrongVersion, fmt.Sprintf("it speaks version %d of the plugin protocol, and this tidemark speaks %s", v, versionsText(p.host.majors)), hint, err)
		}
	}
	if p.runner.pid.Load() == 0 {
		hint := ""
		if p.policy != nil && p.policy.User != "" && errors.Is(err, os.ErrPermission) {
			hint = fmt.Sprintf("only root, or who has the capabilities CAP_SETUID and CAP_SETGID, may run it as %s, who must be able to read and execute the file", p.policy.User)
		}
		return p.failure(NotExecutable, fmt.Sprintf("it cannot be started: %v", err), hint, err)
	}
	if cause := p.runner.limitErr; cause != nil {
		hint := "remove its limits, or give the daemon the right to set them"
		if p.policy.User != "" {
			hint = "the daemon needs the capability CAP_SYS_RESOURCE to set limits of another user's process"
		}
		return p.failure(NotExecutable, fmt.Sprintf("its limits cannot be set: %v", cause), hint, cause)
	}
	_ = p.runner.Kill(context.Background())
	<-p.runner.drained
	switch {
	case p.runner.killed.Load() && version == "":
		return p.failure(StartTimeout, fmt.Sprintf("it has not said that it is a plugin within %s%s", timeout, printed),
			"a plugin calls sdk.Serve at once and prints nothing before", err)
	case p.runner.killed.Load():
		return p.failure(NotAPlugin, fmt.Sprintf("it shook hands, but does not answer as a plugin: %v", err), "", err)
	}
	ended := p.runner.state()
	tail := p.runner.stderr.lines()
	if strings.Contains(strings.Join(tail, " "), "This binary is a plugin") {
		return p.failure(NotAPlugin, "it is a plugin for another program (it does not know tidemark's magic cookie)", "", err)
	}
	if version == "" && p.runner.cmd.ProcessState.Success() {
		return p.failure(NotAPlugin, "it ended without saying that it is a plugin"+printed, "a plugin calls sdk.Serve in its main function", err)
	}
	return p.failure(StartFailed, fmt.Sprintf("it ended before it was ready (%s)%s", ended, printed), "", err)
}

func (p *process) failure(reason Reason, detail, hint string, err error) *Failure {
	f := &Failure{Kind: p.kind, Name: p.name, Path: p.path, Reason: reason, Detail: detail, Hint: hint, Err: err}
	if p.runner != nil {
		f.Tail = p.runner.stderr.lines()
	}
	return f
}

// explain says why a call has failed: the plugin's own answer, its death, its silence, or nonsense.
func (p *process) explain(err error) error {
	if why := p.hung.Load(); why != nil {
		return p.failure(Hung, *why, "", err)
	}
	if p.closing.Load() {
		return err
	}
	code := status.Code(err)
	if code == codes.Internal || code == codes.Unimplemented || code == codes.Unknown && status.Convert(err) != nil && !isEOF(err) {
		if !p.diesSoon() {
			return p.failure(BrokeProtocol, status.Convert(err).Message(), "", err)
		}
	}
	if code != codes.Canceled && code != codes.DeadlineExceeded || isEOF(err) {
		if p.diesSoon() {
			if why := p.hung.Load(); why != nil {
				return p.failure(Hung, *why, "", err)
			}
			return p.failure(Died, "the process has ended ("+p.runner.state()+")", "", err)
		}
	}
	return fmt.Errorf("plugin %s: %w", p.name, err)
}

func isEOF(err error) bool { return strings.Contains(err.Error(), "EOF") }

// dieGrace is how long a process may take to be seen dead after its connection has broken.
const dieGrace = time.Second

func (p *process) diesSoon() bool {
	t := p.host.clock.NewTimer(dieGrace)
	defer t.Stop()
	select {
	case <-p.runner.exited:
		<-p.runner.drained // what it said last is worth having
		return true
	case <-t.C():
		return false
	}
}

// stopGrace is what a process may take to end by itself.
const stopGrace = 2 * time.Second

// stop ends the process, waits for it, and lets go of everything that belongs to it.
func (p *process) stop() {
	p.stopped.Do(func() {
		p.closing.Store(true)
		close(p.over)
		if p.client != nil {
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				p.client.Kill()
			}()
			t := p.host.clock.NewTimer(stopGrace)
			select {
			case <-p.runner.exited:
			case <-asked:
			case <-t.C():
			}
			t.Stop()
			if p.runner.pid.Load() != 0 {
				_ = p.runner.Kill(context.Background())
			}
			if p.runner.started {
				<-p.runner.drained
			}
			<-asked
			if p.conn != nil {
				_ = p.conn.Close()
			}
			_ = p.shared.Close()
		}
		p.watched.Wait()
		p.host.forget(p)
	})
}

// hang ends a process that does not answer.
func (p *process) hang(why string) {
	if p.closing.Load() {
		return
	}
	p.hung.CompareAndSwap(nil, &why)
	p.log.Error("the plugin does not answer and is killed", "why", why)
	_ = p.runner.Kill(context.Background())
}

// runAs applies the policy's user.
func (p *process) runAs(cmd *exec.Cmd) error {
	if p.policy == nil || p.policy.User == "" {
		return nil
	}
	u, err := user.Lookup(p.policy.User)
	if err != nil {
		return fmt.Errorf("run it as %q: %w", p.policy.User, err)
	}
	return runAs(cmd, u.Uid, u.Gid)
}

// openSockets lets a plugin of another user make its socket: its own folder belongs to that user, and the folder of all can be passed
// through, though not read.
func (p *process) openSockets(cmd *exec.Cmd, sockets string) error {
	uid, gid, other := otherUser(cmd)
	if !other {
		return nil
	}
	if err := os.Chmod(p.host.dir, 0o711); err != nil {
		return fmt.Errorf("open the folder of sockets: %w", err)
	}
	if err := os.Chown(sockets, uid, gid); err != nil {
		return fmt.Errorf("give the folder of the socket to %s: %w", p.policy.User, err)
	}
	return nil
}

// passedOn are the variables that every plugin gets from the daemon's environment: none of them holds a secret.
var passedOn = []string{"PATH", "TZ", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}

func environment(policy *config.PluginPolicy, level hclog.Level) []string {
	env := []string{wire.LogLevelKey + "=" + level.String()}
	for _, key := range passedOn {
		if v, ok := os.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	if policy != nil {
		if policy.Memory > 0 {
			env = append(env, fmt.Sprintf("GOMEMLIMIT=%d", policy.Memory/10*9))
		}
		for _, key := range slices.Sorted(mapsKeys(policy.Env)) {
			env = append(env, key+"="+policy.Env[key])
		}
	}
	return env
}

func mapsKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// clientHalf fits the connection into go-plugin, which wants to dispense something.
type clientHalf struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (clientHalf) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this is the daemon's half")
}

func (clientHalf) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}

// absolute makes a path absolute, relative ones count from base.
func absolute(path, base string) string {
	if filepath.IsAbs(path) {
		return path
	}
	if abs, err := filepath.Abs(filepath.Join(base, path)); err == nil {
		return abs
	}
	return path
}
