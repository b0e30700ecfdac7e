package state

import (
	"errors"
	"log/slog"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func testHealth() *health {
	return &health{log: slog.New(slog.DiscardHandler), broken: make(chan struct{})}
}

// work is background work that fails; false means that its goroutine was ended.
func work(h *health, err error) bool {
	returned := make(chan bool, 1)
	go func() {
		ok := false
		defer func() { returned <- ok }()
		h.setback(err)
		ok = true
	}()
	return <-returned
}

func TestBackgroundWorkIsTriedAgainButNotForEver(t *testing.T) {
	h := testHealth()
	eio := errors.New("input/output error")
	for range maxSetbacks - 1 {
		require.True(t, work(h, eio))
	}
	h.progress()
	for range maxSetbacks - 1 {
		require.True(t, work(h, eio))
	}
	require.NoError(t, h.failure())
	require.False(t, work(h, eio))
	require.ErrorIs(t, h.failure(), eio)
	require.False(t, work(h, eio), "nothing goes on behind the fence")
}

func TestAFullDiskIsWaitedForHoweverLong(t *testing.T) {
	h := testHealth()
	told := make(chan error, 10)
	h.listener = func(err error) { told <- err }
	for range 3 * maxSetbacks {
		require.True(t, work(h, syscall.ENOSPC))
	}
	require.NoError(t, h.failure())
	require.ErrorIs(t, <-told, syscall.ENOSPC)
	h.progress()
	require.NoError(t, <-told)
	require.Empty(t, told)

	h.opening.Store(true) // there it cannot be waited for
	require.False(t, work(h, syscall.ENOSPC))
	require.ErrorIs(t, h.failure(), syscall.ENOSPC)
}

func TestWhoAsksLateIsToldToo(t *testing.T) {
	h := testHealth()
	require.True(t, work(h, syscall.ENOSPC))
	told := make(chan error, 10)
	(&Store{log: h}).OnStarving(func(err error) { told <- err })
	require.ErrorIs(t, <-told, syscall.ENOSPC)
}
