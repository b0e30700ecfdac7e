package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

func TestEachEventIsFollowedByItsWatermark(t *testing.T) {
	r := sdktest.RunSource(t, plugin(), nil, sdktest.Until{})
	require.NoError(t, r.Err)
	require.Equal(t, []string{
		"default: partition",
		"default: user=user1 ts=1000 value=1 @1000", "default: watermark 999",
		"default: user=user1 ts=1999 value=2 @1999", "default: watermark 1998",
		"default: user=user1 ts=2000 value=3 @2000", "default: watermark 1999",
		"default: user=user1 ts=2100 value=4 @2100", "default: watermark 2099",
		"default: user=user1 ts=2130 value=5 @2130", "default: watermark 2129",
		"default: watermark 9223372036854775807",
		"ended",
	}, r.Lines())
}

func TestConformance(t *testing.T) { sdktest.Conforms(t, plugin(), sdktest.Settings{}) }
