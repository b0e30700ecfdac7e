package host

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPausesGrowAndTheBreakerOpens(t *testing.T) {
	b := Backoff{Min: time.Second, Max: 5 * time.Second, ResetAfter: time.Minute, Limit: 6}
	for i, want := range []time.Duration{1, 2, 4, 5, 5} {
		pause, again := b.Failed(time.Millisecond, 0)
		require.True(t, again, i)
		require.Equal(t, want*time.Second, pause, i)
	}
	_, again := b.Failed(time.Millisecond, 0)
	require.False(t, again, "the sixth in a row opens it")
	require.Equal(t, 6, b.Failures())
	b.Reset()
	pause, again := b.Failed(time.Millisecond, 0)
	require.True(t, again)
	require.Equal(t, time.Second, pause)

	_, _ = b.Failed(0, 0)
	pause, again = b.Failed(2*time.Minute, 0.5)
	require.True(t, again)
	require.Equal(t, 875*time.Millisecond, pause, "after a run that lasted it begins anew, a little spread")
	require.Equal(t, 1, b.Failures())

	never := Backoff{Min: time.Hour}
	for range 1000 {
		pause, again := never.Failed(0, 0)
		require.True(t, again)
		require.Equal(t, time.Hour, pause)
	}
}

func TestWhatIsACrash(t *testing.T) {
	for reason, crash := range map[Reason]bool{
		NotExecutable: false, WrongDigest: false, WrongVersion: false,
		NotAPlugin: true, StartTimeout: true, StartFailed: true, Died: true, Hung: true, BrokeProtocol: true,
	} {
		err := fmt.Errorf("source s: %w", &Failure{Reason: reason})
		require.Equal(t, crash, Crash(err) != nil, reason)
	}
	require.Nil(t, Crash(fmt.Errorf("the disk is full")))
}
