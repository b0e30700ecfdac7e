package main

import (
	"testing"

	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

func TestOnlyMarkedEventsMoveTime(t *testing.T) {
	a := sdktest.NewAssigner(t, plugin(), nil)
	a.Record(Event{CreationTime: 20_000}).Timestamp(20_000)
	a.Record(Event{CreationTime: 8500, Marked: true}).Timestamp(8500).Watermark(5000)
	a.Record(Event{CreationTime: 7000, Marked: true}).Timestamp(7000).Watermark(5000)
}

func TestConformance(t *testing.T) { sdktest.Conforms(t, plugin(), sdktest.Settings{}) }
