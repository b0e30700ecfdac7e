package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/sdktest"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

const (
	startTimeout = 20 * time.Second // from start to the handshake; interpreters take their time
	endTimeout   = 5 * time.Second  // from the daemon's end to the plugin's
)

// outside tries what shows without a call.
func outside(ctx context.Context, path string, args []string) Report {
	r := Report{Passed: []string{}, Findings: []sdktest.Finding{}, Notes: []string{}}
	for _, c := range []struct {
		name, hint string
		try        func(ctx context.Context, path string, args []string) error
	}{
		{"started by hand it says so and ends", "without the magic cookie in its environment a plugin writes what it is to standard error and exits with a status other than 0", byHand},
		{"it ends when the daemon is gone", "read the pipe that " + wire.LivenessKey + " names, in a thread of its own, and exit at its end", ends},
	} {
		if err := c.try(ctx, path, args); err != nil {
			r.Findings = append(r.Findings, sdktest.Finding{Check: c.name, Detail: err.Error(), Hint: c.hint})
		} else {
			r.Passed = append(r.Passed, c.name)
		}
	}
	return r
}

// byHand starts it as from a shell.
func byHand(ctx context.Context, path string, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, wire.CookieKey+"=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("it still runs after %s", startTimeout)
	case err == nil:
		return errors.New("it ends with status 0, as if all were well")
	case !errors.As(err, &exit):
		return err
	case said.Len() == 0:
		return errors.New("it ends without a word")
	}
	return nil
}

// ends starts it as the daemon does, closes the liveness pipe, and waits for its end.
func ends(ctx context.Context, path string, args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "tidemark-verify-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer write.Close()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = []string{wire.CookieKey + "=" + wire.CookieValue, fmt.Sprintf("PLUGIN_PROTOCOL_VERSIONS=%d", wire.ProtocolVersion),
		"PLUGIN_UNIX_SOCKET_DIR=" + dir, wire.LivenessKey + "=3", "PATH=" + os.Getenv("PATH")}
	cmd.ExtraFiles = []*os.File{read}
	shook := &lineWatch{seen: make(chan struct{})}
	cmd.Stdout = shook
	err = cmd.Start()
	_ = read.Close()
	if err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case <-shook.seen:
	case err := <-over:
		return fmt.Errorf("it ended before its handshake (%v)", err)
	case <-time.After(startTimeout):
		cancel()
		<-over
		return fmt.Errorf("it has not shaken hands within %s", startTimeout)
	}
	_ = write.Close()
	select {
	case <-over:
		return nil
	case <-time.After(endTimeout):
		cancel()
		<-over
		return fmt.Errorf("it still runs %s later", endTimeout)
	}
}

// lineWatch closes seen at the first line that looks like a handshake: a library may have printed something before.
type lineWatch struct {
	text []byte
	done bool
	seen chan struct{}
}

func (l *lineWatch) Write(p []byte) (int, error) {
	if l.done {
		return len(p), nil
	}
	l.text = append(l.text, p...)
	for {
		line, rest, whole := bytes.Cut(l.text, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.text = rest
		if bytes.Count(line, []byte("|")) >= 4 {
			l.done = true
			close(l.seen)
			return len(p), nil
		}
	}
}
