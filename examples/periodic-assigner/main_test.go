package main

import (
	"testing"

	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

func TestTheWatermarkFollowsTheHighestTimestamp(t *testing.T) {
	a := sdktest.NewAssigner(t, plugin(), nil)
	a.Record(Event{CreationTime: 6000}).Timestamp(6000).Watermark(2500)
	a.Record(Event{CreationTime: 4000}).Timestamp(4000).Watermark(2500)
	a.Restart()
	a.Record(Event{CreationTime: 8499}).Timestamp(8499).Watermark(4999)
}

func TestConformance(t *testing.T) { sdktest.Conforms(t, plugin(), sdktest.Settings{}) }
